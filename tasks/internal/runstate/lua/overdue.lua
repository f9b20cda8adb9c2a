-- Ends a run that is past its deadline, as begin or visit has found.
if not load() then return { 'gone' } end
if R.state == 'd' then return { 'done' } end
if S.deadline == 0 or now < S.deadline then return { 'open' } end
closeall(DEADLINE)
finish()
return summary('deadline')
