// Decodes F1 datagrams, one a line in hexadecimal on standard input, into a line
// of JSON each. Run where @racehub-io/f1-telemetry-client can be required.
const {createRequire} = require('module');
const {F1TelemetryClient} = createRequire(process.cwd() + '/')('@racehub-io/f1-telemetry-client');

const lines = require('fs').readFileSync(0, 'utf8').trim().split('\n');
for (const line of lines) {
  const parsed = F1TelemetryClient.parseBufferMessage(Buffer.from(line, 'hex'), true);
  // JSON has neither large whole numbers nor NaN.
  const plain = (_, value) => (typeof value === 'bigint' ? {integer: String(value)} : value);
  console.log(JSON.stringify(parsed.packetData.data, plain));
}
