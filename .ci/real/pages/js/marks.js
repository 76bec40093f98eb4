// Marks that an attack leaves in the page's own world: a list of texts.
(() => {
  const bad = [];
  if (typeof window.__pwned !== 'undefined') bad.push(`window.__pwned is ${window.__pwned}`);
  if (window.name !== '') bad.push(`window.name is ${JSON.stringify(window.name)}`);
  if (/^(owned|pwned)/i.test(document.title)) bad.push(`the title is ${JSON.stringify(document.title)}`);
  return bad;
})
