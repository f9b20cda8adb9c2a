-- Takes entries that have been rung for off the outbox. KEYS: 1 outbox. ARGV: the entries. A script, so that many share a round trip.
return redis.call('ZREM', KEYS[1], unpack(ARGV))
