// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package conditions_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/conditions"
)

// writers are the packages with the constants of a kind's reasons, and the reasons that no aspect has to name: a condition with
// one of them is good, or becomes good without an action of a user.
var writers = map[string]struct {
	packages  []string
	automatic string
}{
	"Kluster": {
		[]string{
			"apis/kubernikus/v1", "openstack", "controllers/kluster", "controllers/kluster/lifecycle", "controllers/kluster/routegc", "controllers/kluster/announce",
			"controllers/kluster/deorbit", "controllers/kluster/workload",
		},
		"Ambiguous Announced Announcing Annotated Canceled CleanInCluster Conflict Deorbited Failed FieldsIgnored Granted IncompleteAnswer Insecure " +
			"Leftovers NoAPIServer NoOrphans NoProof QuotaExceeded RateLimited Reachable Running SameClusterFirst Unidentified Unreachable Usable Withdrawing",
	},
	"DiscoveryBackend": {
		[]string{"apis/gimbal/v1", "controllers/discoverybackend/operator", "controllers/discoverybackend/maintenance", "discoverer/report"},
		"Accepted DiscovererNotStarted DiscovererRunning DiscovererStarting Draining GracePeriod Held Incomplete NotResponding NotTried Pending " +
			"RateLimited Reachable ReachabilityUnknown Recovering Responding ResponseUnknown Restoring RoutesUnknown SameClusterKluster " +
			"SecretUnknown Synced Terminating Unreachable",
	},
	"Project": {
		[]string{"controllers/project/lifecycle"},
		"ContentsUnknown NamespaceAdopted NamespaceCreated NamespaceDeletionFailed NamespaceEmpty NamespaceFailed NamespaceHeld NamespaceMissing " +
			"NamespaceNotOwned NamespaceTerminating PausedByAnnotation QuotaFailed RolesFailed RolesReconciled WaitingForFinalizers",
	},
}

// A reason is a text that the controllers and the summary share without a common constant. One that is renamed, or added without
// a decision whether a user has to act, would make an object wait forever.
func TestReasonsAreThoseOfTheControllers(t *testing.T) {
	for kind, aspects := range conditions.KnownReasons() {
		t.Run(kind, func(t *testing.T) {
			constants := map[string]bool{}
			for _, dir := range writers[kind].packages {
				found := reasonConstants(t, filepath.Join("..", dir))
				if len(found) == 0 {
					t.Errorf("package %s has no constants of reasons", dir)
				}
				maps.Copy(constants, found)
			}
			known := map[string]bool{}
			for condition, reasons := range aspects {
				for _, reason := range reasons {
					known[reason] = true
					if !constants[reason] {
						t.Errorf("condition %s: no controller has the reason %s", condition, reason)
					}
				}
			}
			automatic := strings.Fields(writers[kind].automatic)
			for reason := range constants {
				if known[reason] == slices.Contains(automatic, reason) {
					t.Errorf("reason %s has to be named either by an aspect or here, as one that requires no action", reason)
				}
			}
			for _, reason := range automatic {
				if !constants[reason] {
					t.Errorf("no controller has the reason %s, which is listed here", reason)
				}
			}
		})
	}
}

var (
	// reasonName matches the names of constants, or their types, that are reasons of conditions.
	reasonName = regexp.MustCompile(`(?i)^(reason|suspicion)`)
	// reasonText matches a reason, not a message.
	reasonText = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)
)

// reasonConstants returns the values of the constants of a package that are reasons.
func reasonConstants(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			kind, _ := spec.Type.(*ast.Ident)
			for i, value := range spec.Values {
				literal, ok := value.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING || !reasonName.MatchString(spec.Names[i].Name) && (kind == nil || !reasonName.MatchString(kind.Name)) {
					continue
				}
				if text, err := strconv.Unquote(literal.Value); err == nil && reasonText.MatchString(text) {
					values[text] = true
				}
			}
			return true
		})
	}
	return values
}
