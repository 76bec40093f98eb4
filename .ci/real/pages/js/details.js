// The <details> whose content does not show: a list of texts.
(() => {
  const bad = [];
  for (const d of document.querySelectorAll('details')) {
    const inside = [...d.children].filter((e) => e.localName !== 'summary');
    const hidden = inside.filter((e) => !e.checkVisibility() && getComputedStyle(e).display !== 'none');
    if (hidden.length > 0) bad.push(`closed on paper: ${JSON.stringify(d.textContent.trim().slice(0, 60))}`);
  }
  return bad;
})
