// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package tiers has the tests of what .ci/run leaves to its second tier.
package tiers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rareStep is a line of .ci/run that runs rare tests: minutes, name, tests.
var rareStep = regexp.MustCompile(`(?m)^rare [0-9]+ "[^"]+" '([^']+)'`)

// TestRareTestsHaveAStep checks that each test that "make test" skips as rare runs in a step of the second tier, because it would
// never run in CI otherwise.
func TestRareTestsHaveAStep(t *testing.T) {
	script, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	var inSteps []string
	for _, match := range rareStep.FindAllStringSubmatch(string(script), -1) {
		inSteps = append(inSteps, strings.Split(match[1], "|")...)
	}
	inCode := rareTests(t, "../integration")
	if len(inCode) == 0 {
		t.Fatal("no test of test/integration is rare: the search for them does not work")
	}
	for _, name := range inCode {
		if !slices.Contains(inSteps, name) {
			t.Errorf("%s is rare, and in no step of .ci/run", name)
		}
	}
	for _, name := range inSteps {
		if !slices.Contains(inCode, name) {
			t.Errorf(".ci/run has %s in a step for rare tests, and no such test is rare", name)
		}
	}
}

// rareTests returns the tests in a directory that call rare, or a subtest of which does.
func rareTests(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if ok && function.Recv == nil && strings.HasPrefix(function.Name.Name, "Test") && calls(function.Body, "rare") {
				found = append(found, function.Name.Name)
			}
		}
	}
	return found
}

// calls reports whether a function of this name is called.
func calls(body *ast.BlockStmt, name string) bool {
	called := false
	ast.Inspect(body, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			if function, ok := call.Fun.(*ast.Ident); ok && function.Name == name {
				called = true
			}
		}
		return !called
	})
	return called
}
