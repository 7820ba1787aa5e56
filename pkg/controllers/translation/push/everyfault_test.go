// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/support/faulttest"
)

// work lets half a minute pass, checks for drift, and pushes what is due.
func (p *plane) work(ctx context.Context) error {
	p.t.Helper()
	p.clock.SetTime(p.clock.Now().Add(30 * time.Second))
	p.watch(p.queue)
	_, failed := p.engine.Drift(ctx)
	for name, at := range p.due {
		if !at.After(p.clock.Now()) {
			p.queue.Add(reconcile.Request{NamespacedName: name})
			delete(p.due, name)
		}
	}
	names := slices.Compact(slices.Sorted(slices.Values(p.queue.names)))
	p.queue.names = nil
	for _, name := range names {
		request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
		result, err := p.Reconcile(ctx, request)
		if err != nil {
			result.RequeueAfter, failed = time.Second, errors.Join(failed, err)
		}
		if result.RequeueAfter > 0 {
			p.due[request.NamespacedName] = p.clock.Now().Add(result.RequeueAfter)
		}
		p.watch(p.queue)
	}
	return failed
}

// TestEveryFault checks that the backend has what Translations that are created, changed and deleted request, and what others have
// there, and that orphans are deleted, whatever happens at any of the requests.
func TestEveryFault(t *testing.T) {
	const (
		theirs = "7f1c2f8e-0a53-4a3b-9d65-0d3a6d2f7c11"
		orphan = "0e646980-2007-550e-bb96-44dc505bd784"
	)
	faulttest.Loop{Fenced: faulttest.IsCloudWrite, Steps: 100, Start: func(t *testing.T, g *faulttest.Gate) *faulttest.Life {
		t.Helper()
		p := newPlaneBehind(t, g)
		p.orphans = true
		p.restart()
		p.manually(http.MethodPost, "/bridges", "Bridge-v4", map[string]string{"id": theirs, "tenantId": "other"})
		kept := "Bridge " + theirs
		has := func(want ...string) func() string {
			want = append(want, kept)
			slices.Sort(want)
			return func() string {
				got := p.content()
				slices.Sort(got)
				return cmp.Diff(want, got)
			}
		}
		synced := func(left func() string, names ...string) func() string {
			return func() string {
				for _, name := range names {
					if tr := p.read(name); tr == nil || len(tr.Status.Conditions) == 0 || tr.Status.Conditions[0].Reason != "Synced" || tr.Status.ObservedGeneration != tr.Generation {
						return name + ": " + strings.Join(p.states(name), ", ")
					}
				}
				return left()
			}
		}
		var lost error
		return &faulttest.Life{
			Step: func(ctx context.Context) error {
				err := p.work(ctx)
				if !slices.Contains(p.content(), kept) {
					lost = errors.New("the bridge of another tenant was deleted")
				}
				return err
			},
			Restart: func() {
				p.restart()
				// A process begins with a list, however old it is.
				unwatched := p.unwatched
				p.unwatched = false
				p.watch(p.queue)
				p.unwatched = unwatched
			}, Freeze: func(bool) { p.unwatched = true }, Thaw: func() { p.unwatched = false },
			Acts: []faulttest.Act{
				{Name: "create", Do: func() {
					p.create(translation("port", port()), translation("bridge", bridge()), translation("chain", chain(chainID, "main"), rule(ruleID, "accept"), rule(rule2ID, "drop")))
				}, Left: synced(has("Bridge "+bridgeID, "Chain "+chainID, "Port "+portID, "Rule "+ruleID, "Rule "+rule2ID), "port", "bridge", "chain")},
				{Name: "change", Do: func() {
					p.change("chain", func(tr *midonetv1.Translation) {
						tr.Resources = []midonetv1.BackendResource{chain(chainID, "main"), rule(rule2ID, "drop"), chain(preID, "pre")}
					})
					p.change("bridge", func(tr *midonetv1.Translation) {
						tr.Resources[0].Body = strings.ReplaceAll(tr.Resources[0].Body, "node-a", "node-b")
					})
				}, Left: synced(has("Bridge "+bridgeID, "Chain "+chainID, "Chain "+preID, "Port "+portID, "Rule "+rule2ID), "port", "bridge", "chain")},
				{Name: "orphan", Do: func() {
					p.manually(http.MethodPost, "/chains", "Chain-v1", map[string]string{"id": orphan, "tenantId": "midonetkube"})
				}, Left: synced(has("Bridge "+bridgeID, "Chain "+chainID, "Chain "+preID, "Port "+portID, "Rule "+rule2ID), "port", "bridge", "chain")},
				{Name: "delete", Do: func() {
					for _, name := range []string{"chain", "port", "bridge"} {
						p.delete(name)
					}
				}, Left: func() string {
					for _, name := range []string{"chain", "port", "bridge"} {
						if p.read(name) != nil {
							return name
						}
					}
					return has()()
				}},
			},
			Check: func() error { return lost },
		}
	}}.Test(t)
}
