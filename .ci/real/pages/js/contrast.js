// Text in drawings that stands out too little from the ground that the drawing
// has, which axe-core leaves to a person: a list of texts.
(() => {
  const bad = new Set();
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (c) => { // any colour as numbers
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = c;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = (c) => {
    const [r, g, b] = [...rgba(c)].slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (let p = e; p; p = p.parentElement) {
      const c = getComputedStyle(p).backgroundColor;
      if (rgba(c)[3] === 255) return c;
    }
    return 'white';
  };
  for (const svg of document.querySelectorAll('svg')) {
    if (!svg.checkVisibility() || svg.getBoundingClientRect().width === 0) continue;
    const under = ground(svg);
    const u = light(under);
    for (const t of svg.querySelectorAll('text')) {
      const fill = getComputedStyle(t).fill;
      const l = light(fill);
      const ratio = (Math.max(l, u) + 0.05) / (Math.min(l, u) + 0.05);
      if (ratio < 4.5) bad.add(`${ratio.toFixed(1)} to 1, want 4.5: ${JSON.stringify(t.textContent.slice(0, 40))}, ${fill} on ${under}`);
    }
  }
  return [...bad];
})
