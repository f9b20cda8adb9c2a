// Command worker is the fleet's process: it takes steps from Redis, asks models, and says how every step ended.
//
//	worker run     works until SIGTERM, then drains (also without a word)
//	worker demo    shows all of it in one process, with a Redis and providers of its own
//	worker check   looks at the configuration, Redis and the providers, and says what is wrong
//
// The work itself is in the packages tasks, flow, provider and executor; here flags, files and the environment are read
// and the parts are wired.
package main
