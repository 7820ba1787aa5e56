// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "testing"

func TestSmoke(t *testing.T) {
	c := newCluster(t)
	p := c.project("dev")
	res, err := c.reconcile("dev")
	t.Log(res, err, c.writes)
	t.Logf("%+v", c.current("dev").Status)
	t.Log(c.settle("dev"), c.writes, *p.Spec.Namespace)
	t.Log(c.events())
}
