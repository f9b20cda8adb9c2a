// BullMQ doing the job, on either side; ../bullmq.go starts it.
//
//	node anchor.mjs worker SPEC     says and hears what ../serve.go says of a worker, but for the profiles
//	node anchor.mjs producer SPEC   hears "<number> <steps>" for each run, and says "<number> <writes to Redis so far>" when
//	                                it is in the queue, with the text of an error after it
//
// SPEC is a Spec as JSON; its durations are nanoseconds. The end of its input ends the program.

import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { FlowProducer, Worker } from 'bullmq';

const [role, text] = process.argv.slice(2);
const spec = JSON.parse(text);
const [host, port] = spec.Redis[0].split(':');
const queue = spec.Queues[0];
const parent = createInterface({ input: process.stdin });

const say = (...words) => process.stdout.write(words.join(' ') + '\n');
const milliseconds = () => performance.timeOrigin + performance.now();
const nanos = (ms) => String(BigInt(Math.round(ms * 1e3)) * 1000n);

// What is written at once is a round trip, as it is counted for the clients in Go.
let writes = 0;
for (const method of ['_write', '_writev']) {
  const plain = Socket.prototype[method];
  Socket.prototype[method] = function (...args) {
    if (this.remotePort === Number(port)) writes++;
    return plain.apply(this, args);
  };
}

if (role === 'producer') produce();
else await work();

// chain is a flow whose jobs each wait for the one below: the deepest is the first step. What is done is removed, as by asynq.
function chain(steps) {
  let flow;
  for (let left = steps; left > 0; left--) {
    const name = left === 1 ? 'last' : 'step';
    flow = { name, queueName: queue, data: 1, opts: { removeOnComplete: true }, children: flow ? [flow] : [] };
  }
  return flow;
}

function produce() {
  const flows = new FlowProducer({ connection: { host, port: Number(port) } });
  parent.on('line', async (line) => {
    const [number, steps] = line.split(' ');
    try {
      await flows.add(chain(Number(steps)));
      say(number, writes);
    } catch (err) {
      say(number, writes, err.message);
    }
  });
  parent.on('close', () => flows.close().finally(() => process.exit()));
}

async function work() {
  let begun, calls = 0, finished = 0;
  const marks = new Map((spec.Marks ?? []).map((runs, place) => [runs, place]));

  async function step() {
    if (++calls === 1) begun = milliseconds();
    if (spec.Step > 0) await sleep(spec.Step / 1e6);
    return 1;
  }
  const worker = new Worker(queue, step, {
    connection: { host, port: Number(port), maxRetriesPerRequest: null }, concurrency: spec.Slots,
  });
  worker.on('error', (err) => console.error('bullmq:', err.message));
  worker.on('completed', (job) => {
    if (job.name !== 'last') return;
    finished++;
    if (marks.has(finished)) say('mark', marks.get(finished), nanos(milliseconds()));
    if (spec.Announce > 0 && finished % spec.Announce === 0) say('done', 0, nanos(milliseconds()));
  });

  parent.on('line', (line) => {
    if (line !== 'report') return;
    const cpu = process.cpuUsage();
    say('report', JSON.stringify({
      Begun: begun && new Date(begun).toISOString(), Calls: calls, Finished: finished, Writes: writes,
      CPU: (cpu.user + cpu.system) * 1000, Resident: process.memoryUsage.rss(), Peak: process.resourceUsage().maxRSS * 1024,
    }));
  });
  parent.on('close', () => worker.close(true).finally(() => process.exit()));
  await worker.waitUntilReady();
  say('ready');
}
