// How the page looks, in a few computed values.
(() => {
  const out = {};
  for (const [sel, props] of [
    ['html', ['backgroundColor']],
    ['body', ['backgroundColor', 'color', 'fontFamily', 'fontSize', 'marginTop']],
    ['main', ['maxWidth', 'paddingLeft', 'display']], ['h1', ['fontSize', 'marginTop']], ['a', ['color', 'position']],
  ]) {
    const e = document.querySelector(sel);
    for (const p of props) out[`${sel} ${p}`] = e ? getComputedStyle(e)[p] : 'no such element';
  }
  return out;
})
