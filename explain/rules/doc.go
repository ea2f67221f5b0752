// Package rules concludes from facts what went wrong. A rule is a value with a stable identifier:
// it finds one kind of symptom, and ranks the causes that this symptom can have by the evidence for
// and against each.
//
//	findings := rules.Judge(f, rules.All())
//	first := findings[0].Causes[0]
//	fmt.Println(first.Title, first.Confidence, first.Decide)
//
// A cause is proven only if a fact decides it; otherwise it is likely or possible, with the command
// that decides. Rules don't change facts; they are safe for use by several goroutines.
package rules
