// Package hostlist reads and writes lists of hosts in the syntax that Slurm and pdsh share:
//
//	names, err := hostlist.Parse("gpu[001-064],-gpu007,login1")
//	names, err = hostlist.ParseFile(file, "hosts.txt")
//	fmt.Println(hostlist.Compress(names)) // gpu[001-006,008-064],login1
//
// A list has elements separated by commas. An element is a name in which brackets stand for
// numbers: gpu[1-3,7] is gpu1, gpu2, gpu3 and gpu7. It may have several brackets, of which the last
// one counts fastest, and text after them: rack[1-2]n[01-16]-ib0. The numbers of a range have the
// digits of its first one: [08-11] is 08, 09, 10, 11, and [8-11] is 8, 9, 10, 11. Empty elements
// are ignored, as are blanks around commas. As for pdsh, an element that begins with a hyphen
// excludes hosts, wherever in the list it is: gpu[1-3],-gpu2 is gpu1 and gpu3. And user@ may
// precede a host.
//
// The names are in the order of the list. They go to ssh, and ssh passes the command to shells, so
// a name has only letters, digits, dots, hyphens and underscores, or is an IPv6 address; a name
// that begins with a hyphen would be an option. Names have no ports.
//
// Where the tools differ or accept what is likely a mistake, the package is strict. These are
// errors, but not for all of Slurm 22.05 (scontrol show hostnames), pdsh 2.34 and ClusterShell 1.9
// (nodeset -e):
//
//   - a bracket without its other half: for Slurm, gpu[1-2 is a host gpu]
//   - a range without an end: for Slurm and pdsh, gpu[1-] is gpu1
//   - numbers of different widths: for Slurm and pdsh, gpu[8-011] is gpu8 to gpu11; ClusterShell
//     rejects it, but also [08-100], which Slurm itself writes and which is accepted
//   - a sign or a blank before a number: for Slurm and pdsh, gpu[ 1] and gpu[+1] are gpu01
//   - a blank between names: it separates them for all three, but not according to pdsh(1)
//   - a host that is twice in the list: twice for Slurm and pdsh, once for ClusterShell
//   - an exclusion of a host that is not in the list: pdsh ignores it
//
// What one tool lacks is accepted: exclusions, which only pdsh has; text after brackets, which
// Slurm 22.05 rejects; adjacent brackets, which ClusterShell rejects; and three brackets, of which
// pdsh expands two. Regular expressions, groups, steps such as [0-10/2] and the operators of
// ClusterShell are not supported.
//
// The functions do no input or output except through the reader that they are given, keep no
// state, and are safe for concurrent use.
package hostlist
