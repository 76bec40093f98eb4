// The lightness of the page's ground and of its text, 0 to 255.
(() => {
  const light = (c) => {
    const [r, g, b, a] = c.match(/[\d.]+/g).map(Number);
    return a === 0 ? null : 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const body = getComputedStyle(document.body);
  const ground = light(body.backgroundColor) ?? light(getComputedStyle(document.documentElement).backgroundColor) ?? 255;
  return { ground, text: light(body.color) };
})
