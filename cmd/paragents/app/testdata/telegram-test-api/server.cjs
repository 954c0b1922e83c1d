// The server of telegram-test-api, unchanged. It says when it listens, and ends with its standard input.
const TelegramServer = require('telegram-test-api');

const server = new TelegramServer({ host: '127.0.0.1', port: Number(process.env.PORT) });
server.start().then(() => console.log('listening'));
process.stdin.on('end', () => process.exit(0)).resume();
