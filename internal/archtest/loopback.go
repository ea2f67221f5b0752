package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
)

// loopbackLiteral is an address of the loopback network by itself, or as the name of an engine.
var loopbackLiteral = regexp.MustCompile(`^(?:roce@)?(127\.\d+\.\d+\.\d+)(?::\d+)?$`)

// shared are addresses that the tests of several packages may have: they don't open engines there.
var shared = regexp.MustCompile(`^127\.0\.[01]\.\d+$`)

// checkLoopback finds addresses of the loopback network in the tests of more than one folder.
func checkLoopback(t *Tree) (found []Violation) {
	first := map[string]string{} // folder by address
	for _, file := range t.Files {
		if !file.Test {
			continue
		}
		ast.Inspect(file.AST, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			m := loopbackLiteral.FindStringSubmatch(text)
			if err != nil || m == nil || shared.MatchString(m[1]) {
				return true
			}
			if dir, known := first[m[1]]; !known {
				first[m[1]] = file.Dir
			} else if dir != file.Dir {
				found = append(found, t.wrongAt(lit.Pos(), "%s is an address of the tests of %s, too", m[1], dir))
			}
			return true
		})
	}
	return found
}
