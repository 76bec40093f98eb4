// Preloaded into every server: one that names no address to listen on, or
// "localhost", listens on 127.0.0.1, so that nothing from outside
// reaches it.
const { Server } = require('node:net');

const listen = Server.prototype.listen;
Server.prototype.listen = function (...args) {
  if (args[0] !== null && typeof args[0] === 'object' && 'port' in args[0]) {
    const { host } = args[0];
    if (!host || host === 'localhost') args[0] = { ...args[0], host: '127.0.0.1' };
  } else if (/^\d+$/.test(String(args[0]))) {
    if (args[1] === 'localhost') args[1] = '127.0.0.1';
    else if (typeof args[1] !== 'string') args.splice(1, 0, '127.0.0.1');
  }
  return listen.apply(this, args);
};
