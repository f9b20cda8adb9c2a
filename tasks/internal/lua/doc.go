// Package lua joins scripts for Redis.
//
// A script that must do what another one does, and something more in the same moment, holds that one whole as a function of its
// own: so asynq's scripts stay as asynq wrote them, and are learnt from it, while nothing can come between them and ours. Lua lets a
// function have KEYS and ARGV as parameters, which hide those of the script around it.
package lua
