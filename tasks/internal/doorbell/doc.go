// Package doorbell is all that Fourfold has of asynq: at-least-once delivery of small references.
//
// A run's state is Fourfold's own and decides everything; a ring only says "look at this step". So a ring may come twice,
// late, or to two workers at a time, and may be lost: the sweeper rings anew. That is the reason for every choice here,
// first of all that a finished ring is not retained and its ID may be rung again at once.
//
//	ringer := doorbell.NewRinger(rdb, doorbell.RingerOptions{})
//	err := ringer.Ring(ctx, doorbell.Ring{Queue: "default", ID: "run:1:step:0", Payload: reference})
//
//	server, err := doorbell.NewServer(doorbell.ServerConfig{Redis: rdb, Queues: map[string]int{"default": 1}, Handler: handle})
//	err = server.Start()
//	result := server.Shutdown(ctx)
//
// # What is added to asynq, and where
//
// asynq v0.26 is used as it is published. All that is added stands between it and go-redis, in hooks:
//
//   - encode.go lets asynq's client write rings without sending them, so that many share a round trip (ring.go).
//   - hook.go recognises the script that takes a task, and gives it to a taker (take.go), which takes several tasks in one
//     round trip while there are many and slots are free, and waits while there are none.
//   - attake.go puts that script into one of the caller's, which meets each ring in the moment in which it is taken.
//   - yard.go is where idle servers wait, and how they are woken.
//   - coalesce.go makes scripts of many goroutines share round trips.
//   - handle.go runs the handler: fixed words for asynq, panics contained, contexts that end.
//   - stint.go lets a handler work on what asynq has forgotten, and counts its place.
//   - inspect.go and keep.go read queues, and keep asynq's archive small.
//   - log.go and words.go replace texts that others wrote by fixed words.
//
// Where asynq takes tasks in a way that is not recognised, servers poll: slower, not wrong.
// TestTakingScriptIsThatOfThePinnedAsynq and TestKeysAreThoseOfThePinnedAsynq fail first.
//
// # Waiting without polling
//
// An idle server stays inside its taking script's hook until its queues have something. One listener for each queue and
// process holds a BLMOVE of the pending list to itself, while somebody is idle. It was chosen over a publish by producers:
// a publish costs Redis something for each ring and each subscribed process just when there is most to do, and hears
// neither asynq's own moves of delayed tasks nor other producers; the BLMOVE costs nothing while all are busy. What speaks
// against it is handled in yard.go: it wakes every process that listens, so those that come too late stop listening for a
// random while; it answers at once for a paused queue that is not empty, which is the same case; and it holds a
// connection. Each wake-up is one small write in Redis' append-only file.
//
// Nothing rests on a wake-up: servers also look by themselves, every 2 to 5 seconds, and every 200 ms where listening does
// not work (no BLMOVE before Redis 6.2, no right to it).
//
// # asynq's faults
//
// docs/asynq.md lists those known of v0.26 (D1 to D16), what is done about each, and the test that holds it.
package doorbell
