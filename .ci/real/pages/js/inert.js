// What recorded text may have smuggled in: a list of texts.
(() => {
  const bad = [];
  const name = (e) => e.outerHTML.slice(0, 120);
  // Elements that the generator may put around pieces of a recorded text.
  const plain = new Set('a abbr b bdi br code del em ins mark span strong text title tspan wbr'.split(' '));
  for (const box of document.querySelectorAll('[data-recorded]')) {
    for (const e of box.querySelectorAll('*')) {
      if (!plain.has(e.localName)) bad.push(`in recorded text: ${name(e)}`);
    }
  }
  for (const e of document.querySelectorAll('img,iframe,frame,object,embed,foreignObject,video,audio,form,base,style,math,template')) {
    bad.push(`a page has no <${e.localName}>: ${name(e)}`);
  }
  for (const e of document.querySelectorAll('script')) {
    if (e.parentElement !== document.head) bad.push(`a script outside the head: ${name(e)}`);
    else if (!e.src && e.type !== 'application/ld+json') bad.push(`a script in the page: ${name(e)}`);
    else if (e.src && new URL(e.src).origin !== location.origin) bad.push(`a script from elsewhere: ${name(e)}`);
  }
  const schemes = new Set(['http:', 'https:', 'file:', 'mailto:']);
  for (const e of document.querySelectorAll('*')) {
    for (const a of e.attributes) {
      if (/^on/i.test(a.name)) bad.push(`a handler in the page: ${name(e)}`);
      if (a.name === 'style') bad.push(`a style in an element: ${name(e)}`);
      if (/^(href|xlink:href|src|action|formaction|ping|poster|data)$/i.test(a.name) && !a.value.startsWith('#')) {
        let url = null;
        try { url = new URL(a.value, location.href); } catch { /* said below */ }
        if (!url || !schemes.has(url.protocol)) bad.push(`an address that is no web address: ${name(e)}`);
        else if (e.closest('[data-recorded]') || e.querySelector('[data-recorded]')) {
          const away = url.origin !== location.origin && url.protocol !== 'file:';
          if (away && url.protocol !== 'https:') bad.push(`a recorded link that is not https: ${name(e)}`);
          if (away && !e.relList?.contains('nofollow')) bad.push(`a recorded link without nofollow: ${name(e)}`);
        }
      }
    }
  }
  return bad;
})
