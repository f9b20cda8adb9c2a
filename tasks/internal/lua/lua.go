package lua

// Function declares a script as a local function of another one, which calls it with tables for the KEYS and ARGV that it reads.
func Function(name, script string) string {
	return "local function " + name + "(KEYS, ARGV)\n" + script + "\nend\n"
}
