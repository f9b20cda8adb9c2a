// Package runstate keeps the state of runs in Redis and changes it only by atomic scripts.
//
// A run belongs to one queue; all keys carry the queue as their hash tag, so that one script can change all of a run
// and a cluster spreads queues over nodes:
//
//	fourfold:{q}:run:<run>   HASH  the run's records, below
//	fourfold:{q}:val:<run>   HASH  input, unless it is small; <i> value of step i; <i>.<k> value and <i>:<k> input of item k of a
//	                               for_each step
//	fourfold:{q}:outbox      ZSET  <run>:<generation>:<unit>:<redrive>, score = when the sweeper rings it;
//	                               the unit "!" is the on_done task
//	fourfold:{q}:due         ZSET  open runs by when the sweeper must look next
//	fourfold:{q}:claims      ZSET  <run>:<generation>:<unit>, score = end of the claim
//	fourfold:{q}:kept:<sha>  STRING  there while the queue believes that the bundle is, at most an hour
//	fourfold:{q}:failed      ZSET  finished FAILED runs, newest last
//
// A unit is what a worker works on: a step, "3", or an item of a for_each step, "3.17". Steps are named by their
// topological index. Times are milliseconds of the Redis server's clock; clocks decide only when to ring again, never
// what is true.
//
// The fields of a run, each a record with | between its parts:
//
//	h       bundle sha|input hash, both in base64                             fixed; what a key's reuse is compared with
//	f       flow
//	k       steps|created|deadline|window|retention|fail fast|on_done queue    fixed but for the deadline of a rerun
//	r       o or d|generation|open steps|abstained|ok|degraded|failed|skipped|finished|marker
//	g<i>    step id|flags|parents|children      edges as <index><mode>, modes r, o, a; flags: a absorbable, v has an
//	                                                               always edge, n failed items count as DEGRADED, null
//	s<u>    w|edges left|marker in                                            waiting
//	        q|redrive|deliveries|runnable since|spent|marker in               queued or worked on
//	        e|items|open|next|worst|marker in                                 a for_each step whose items are under way
//	        d|outcome|cause|skipped|generation|marker out|envelope            done
//	c<u>    token of the claim
//	w<u>    generation|ms for which an outage has kept it waiting       parked, and not claimed since; absent: for none
//	t       W3C traceparent of the submission                                 absent when it had no trace
//	i       input                                                             absent when it has more than 64 bytes
//
// Records are short, since Redis keeps a hash compact only while none of its values has more than 64 bytes.
//
// A marker is <severity> or <severity>.<index>.<cause>: severities 1 ABSTAINED to 4 FAILED, causes as numbered by Cause.
//
// A step becomes runnable only by the script that also writes its outbox entry, or posts its task; so at any time a runnable unit is in the
// outbox, rung in the queue, claimed, or found by the sweeper. Safety needs no clock: complete changes nothing that is
// done already.
//
// Runs that are made, and steps that end, at about the same time share a call of their script, and have an answer each (gather.go).
package runstate
