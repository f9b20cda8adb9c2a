-- Ends every open step as cancelled.
if not load() then return { 'gone' } end
if R.state == 'd' then return { 'finished' } end
closeall(CANCELED)
finish()
call('PUBLISH', 'fourfold:cancel:' .. id, R.gen)
return summary('canceled')
