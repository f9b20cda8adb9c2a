-- Ends every open step of a run that cannot be run: its bundle is gone or unreadable. ARGV: 2 generation.
if not load() then return { 'gone' } end
if R.state == 'd' or R.gen ~= ARGV[2] then return { 'done' } end
closeall(REJECTED)
finish()
return summary('rejected')
