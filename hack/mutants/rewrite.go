// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// chosen is the file that every rewritten package gets. Its variable is the number of the guard that is broken in this process.
const chosen = `package %s

import (
	"os"
	"strconv"
)

var brokenGuard, _ = strconv.Atoi(os.Getenv("BROKEN_GUARD"))
`

// edit inserts text at an offset of a file.
type edit struct {
	at   int
	text string
}

// rewrite returns a file in which each guard has a number: where that is chosen, the function with the guard calls a copy of itself
// without it. It also returns the name of the package.
func rewrite(text string, guards map[int]mutant) (rewritten, name string, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return "", "", err
	}
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	var edits []edit
	var copies strings.Builder
	for _, number := range slices.Sorted(maps.Keys(guards)) {
		m := guards[number]
		if _, err := m.apply(text); err != nil {
			return "", "", err
		}
		at := strings.Index(text, m.guard)
		i := slices.IndexFunc(file.Decls, func(d ast.Decl) bool { return offset(d.Pos()) <= at && at < offset(d.End()) })
		var function *ast.FuncDecl
		if i >= 0 {
			function, _ = file.Decls[i].(*ast.FuncDecl)
		}
		if function == nil {
			return "", "", fmt.Errorf("%s: %q is in no function", m.file, m.guard)
		}
		from, to, named := offset(function.Pos()), offset(function.End()), offset(function.Name.End())
		copied := text[from:at] + m.with + text[at+len(m.guard):to]
		suffix := fmt.Sprintf("Broken%d", number)
		fmt.Fprintf(&copies, "\n%s%s%s\n", copied[:named-from], suffix, copied[named-from:])
		call := callOf(function, suffix) + "; return"
		if function.Type.Results != nil {
			call = "return " + callOf(function, suffix)
		}
		edits = append(edits, edit{offset(function.Body.Lbrace) + 1, fmt.Sprintf(" if brokenGuard == %d { %s }; ", number, call)})
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return b.at - a.at })
	for _, e := range edits {
		text = text[:e.at] + e.text + text[e.at:]
	}
	return text + copies.String(), file.Name.Name, nil
}

// callOf returns a call of the copy of a function with its own arguments.
func callOf(function *ast.FuncDecl, suffix string) string {
	called := function.Name.Name + suffix
	if function.Recv != nil {
		called = namesOf(function.Recv)[0] + "." + called
	}
	if generic := function.Type.TypeParams; generic != nil {
		called += "[" + strings.Join(namesOf(generic), ", ") + "]"
	}
	arguments := strings.Join(namesOf(function.Type.Params), ", ")
	if all := function.Type.Params.List; len(all) > 0 {
		if _, variadic := all[len(all)-1].Type.(*ast.Ellipsis); variadic {
			arguments += "..."
		}
	}
	return called + "(" + arguments + ")"
}

// namesOf returns the names of parameters; one that has none cannot be passed on, and what it is called is no Go.
func namesOf(fields *ast.FieldList) (names []string) {
	for _, field := range fields.List {
		if len(field.Names) == 0 {
			names = append(names, "<a parameter without a name>")
		}
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}
