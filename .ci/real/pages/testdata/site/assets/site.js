const input = document.getElementById('find');
const found = document.getElementById('found');
if (input) {
  document.addEventListener('keydown', (e) => {
    if (e.key === '/' && document.activeElement !== input) { e.preventDefault(); input.focus(); }
  });
  input.addEventListener('input', () => {
    found.replaceChildren();
    found.hidden = !'com.example/server'.includes(input.value);
    input.setAttribute('aria-expanded', String(!found.hidden));
    if (found.hidden) return;
    const o = document.createElement('li');
    o.id = 'o'; o.role = 'option'; o.textContent = 'com.example/server'; o.ariaSelected = 'false';
    found.append(o);
  });
  input.addEventListener('keydown', (e) => {
    if (e.key === 'ArrowDown') { input.setAttribute('aria-activedescendant', 'o'); found.firstChild.ariaSelected = 'true'; }
    if (e.key === 'Enter') location.href = 'server/';
  });
}
