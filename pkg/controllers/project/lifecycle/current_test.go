// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// TestIsCurrent checks what may not have changed since a Project was read, for a decision about the permissions of its members.
func TestIsCurrent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*gardenerv1beta1.Project)
		want   error
	}{
		"unchanged":                {change: func(*gardenerv1beta1.Project) {}},
		"deleted":                  {want: kit.ErrChanged},
		"another one of this name": {change: func(p *gardenerv1beta1.Project) { p.UID = "another" }, want: kit.ErrChanged},
		"another spec":             {change: func(p *gardenerv1beta1.Project) { p.Generation++ }, want: kit.ErrChanged},
		"the status remembers bindings by now": {want: kit.ErrChanged, change: func(p *gardenerv1beta1.Project) {
			p.Status.Conditions = []gardenerv1beta1.Condition{{Type: gardenerv1beta1.ProjectRBACReady, Status: "True", Reason: "Reconciled"}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var stored []client.Object
			if c.change != nil {
				live := testProject("dev")
				c.change(live)
				stored = append(stored, live)
			}
			x := &execution{reconciler: newCluster(t, stored...).reconciler, project: testProject("dev")}
			if err := x.isCurrent(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("error = %v, want %v", err, c.want)
			}
		})
	}
}
