// Remembers how everything looks without focus, and later says what has it.
((remember) => {
  const ring = (e) => {
    const s = getComputedStyle(e);
    const clear = /^(transparent|rgba\(.*, 0\))$/.test(s.outlineColor);
    return { outline: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 && !clear, shadow: s.boxShadow };
  };
  if (remember) {
    self.__rings = new Map();
    for (const e of document.querySelectorAll('*')) self.__rings.set(e, ring(e));
    return null;
  }
  const e = document.activeElement;
  if (!e || e === document.body || e === document.documentElement) return { none: true };
  const shows = (x) => {
    const now = ring(x);
    const before = self.__rings?.get(x) || { outline: false, shadow: 'none' };
    return (now.outline && !before.outline) || now.shadow !== before.shadow;
  };
  const box = e.getBoundingClientRect();
  const main = document.querySelector('main');
  const target = e.localName === 'a' && e.hash ? document.getElementById(decodeURIComponent(e.hash.slice(1))) : null;
  return {
    name: `${e.localName}${e.id ? '#' + e.id : ''} ${JSON.stringify((e.textContent || e.getAttribute('placeholder') || '').trim().slice(0, 40))}`,
    order: [...document.querySelectorAll('*')].indexOf(e),
    skip: !!(target && main && (target === main || main.contains(target))),
    search: e.matches('input[type=search]'),
    main: !!(main && (main === e || main.contains(e))),
    ring: shows(e) || (e.parentElement && shows(e.parentElement)) || (e.parentElement?.parentElement && shows(e.parentElement.parentElement)) || false,
    shown: box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth,
  };
})
