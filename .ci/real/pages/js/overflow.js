// What is wider than the window: a list of texts. On paper nothing can be
// scrolled, so there a box with more in it than it shows counts too.
((paper) => {
  const bad = [];
  const root = document.documentElement;
  const width = root.clientWidth;
  const name = (e) => {
    let s = e.localName;
    if (e.id) s += '#' + e.id;
    for (const c of e.classList) s += '.' + c;
    return s + ' ' + JSON.stringify(e.textContent.trim().slice(0, 40));
  };
  if (root.scrollWidth > width) bad.push(`the document is ${root.scrollWidth} px wide, the window ${width}`);
  if (document.body.scrollWidth > width) bad.push(`the body is ${document.body.scrollWidth} px wide, the window ${width}`);
  // An ancestor scrolls or clips it; html and body must not need to. What is
  // positioned is held only from where its containing block is on.
  const holds = (e) => {
    let free = ['absolute', 'fixed'].includes(getComputedStyle(e).position);
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) {
      const style = getComputedStyle(p);
      if (free && style.position === 'static') continue;
      if (style.overflowX !== 'visible') return true;
      free = ['absolute', 'fixed'].includes(style.position);
    }
    return false;
  };
  const wide = [];
  for (const e of document.body.querySelectorAll('*')) {
    if (e.ownerSVGElement) continue; // an svg clips what it draws
    const box = e.getBoundingClientRect();
    if (box.width > 0 && box.height > 0 && box.right > width + 1 && e.checkVisibility() && !holds(e)) wide.push(e);
    if (paper && e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible') {
      bad.push(`cut off on paper, ${e.scrollWidth} px in ${e.clientWidth}: ${name(e)}`);
    }
  }
  for (const e of wide) {
    if (!wide.some((o) => o !== e && e.contains(o))) {
      bad.push(`ends at ${Math.round(e.getBoundingClientRect().right)} px of ${width}: ${name(e)}`);
    }
  }
  return bad;
})
