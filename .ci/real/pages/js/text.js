// The words of <main>, all <details> open, without what a script adds on top.
(() => {
  const main = document.querySelector('main');
  if (!main) return '';
  for (const d of main.querySelectorAll('details')) d.open = true;
  for (const e of main.querySelectorAll('[data-script]')) e.remove();
  return main.innerText.split(/\s+/).join(' ').trim();
})
