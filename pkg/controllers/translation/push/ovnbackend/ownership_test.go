// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
	"groundskeeper.io/groundskeeper/test/support/ovsdbtest"
)

// step is an operation as the server gets it.
type step struct {
	Op        string            `json:"op"`
	Table     string            `json:"table"`
	UUID      string            `json:"uuid"`
	Where     []ovsdb.Condition `json:"where"`
	Row       map[string]any    `json:"row"`
	Mutations []ovsdb.Mutation  `json:"mutations"`
}

// database responds to transactions as one whose row has tags, and keeps the transactions that write.
type database struct {
	// id is that of the row; tags are its external_ids, nil if there is no such row.
	id   string
	tags map[string]string

	mu      sync.Mutex
	written [][]step
}

func (d *database) respond(method string, params []json.RawMessage) (result, failure any, silent bool) {
	if method != "transact" {
		return ovsdbtest.Member(true)(method, params)
	}
	steps := make([]step, len(params)-1)
	for i, data := range params[1:] {
		if err := json.Unmarshal(data, &steps[i]); err != nil {
			return nil, err.Error(), false
		}
	}
	var results []any
	for _, s := range steps {
		switch {
		case s.Op == "select" && s.Table == globalTable:
			results = append(results, map[string]any{"rows": []any{map[string]any{"_uuid": ovsdb.UUID(random), "external_ids": ovsdb.Map{}}}})
		case s.Op == "select" && d.tags != nil:
			results = append(results, map[string]any{"rows": []any{map[string]any{"_uuid": ovsdb.UUID(d.id), "external_ids": ovsdb.Map(d.tags)}}})
		case s.Op == "select":
			results = append(results, map[string]any{"rows": []any{}})
		case s.Op == "wait" && d.isOther(s):
			return append(results, map[string]any{"error": ovsdb.CodeTimedOut}), nil, false
		default:
			results = append(results, map[string]any{"count": 1})
		}
	}
	if steps[0].Op != "select" && steps[0].Op != "mutate" { // neither a read nor the record of the writer
		d.mu.Lock()
		defer d.mu.Unlock()
		d.written = append(d.written, steps)
	}
	return results, nil, false
}

// isOther reports whether what a step requires is not so, of the row of the database.
func (d *database) isOther(s step) bool {
	if !isOf(s.Where, d.id) {
		return false
	}
	meets := []string{encoded(ovsdb.Condition{tagColumn, "==", ovsdb.Map(d.tags)}), encoded(tagOf(d.tags[TenantKey]))}
	for _, c := range s.Where {
		if c[0] == tagColumn && !slices.Contains(meets, encoded(c)) {
			return true
		}
	}
	return false
}

func isOf(where []ovsdb.Condition, id string) bool {
	return slices.ContainsFunc(where, func(c ovsdb.Condition) bool { return encoded(c) == encoded(ovsdb.ByID(id)) })
}

func tagOf(tenant string) ovsdb.Condition {
	return ovsdb.Condition{tagColumn, "includes", ovsdb.Map{TenantKey: tenant}}
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestOwnershipIsRequired checks, without a database, that each transaction that changes a row requires in itself that this process is
// the writer, and that the row has the tenant's tag, or exactly the tags that were read, none of which names a tenant. What it changes
// of other rows is a reference to the row, and rows that it makes have the tag.
func TestOwnershipIsRequired(t *testing.T) {
	for _, k := range ovn.Kinds() {
		for name, tc := range map[string]struct {
			id     string // empty: one that is derived
			tags   map[string]string
			writes bool
		}{
			"its own":                                  {"", map[string]string{TenantKey: "t", "x": "y"}, true},
			"its own, with a random id":                {random, map[string]string{TenantKey: "t"}, true},
			"without a tag":                            {"", map[string]string{"x": "y"}, true},
			"without a tag, with a random id":          {random, map[string]string{"x": "y"}, false},
			"without a tag, derived by another tenant": {theirs, map[string]string{"x": "y"}, false},
			"of another tenant":                        {"", map[string]string{TenantKey: "u"}, false},
			"of another tenant, with a random id":      {random, map[string]string{TenantKey: "u"}, false},
			"does not exist":                           {"", nil, false},
		} {
			if !k.IsTagged() && (tc.id == random || tc.tags == nil) {
				continue // the ids of these rows show the owner
			}
			t.Run(k.Name+"/"+name, func(t *testing.T) {
				id := cmp.Or(tc.id, uuid.NewSHA1(uuid.Nil, []byte(k.Name)).String())
				d := &database{id: id, tags: tc.tags}
				b, r := connected(t, d), resourceOf(t, k, id)
				updated, deleted := b.Update(t.Context(), r), b.Delete(t.Context(), r.Ref)
				writes := tc.writes || !k.IsTagged() && tc.id == ""
				if (updated == nil) != writes || deleted != nil {
					t.Errorf("update: %v, want success: %v; delete: %v, want none", updated, writes, deleted)
				}
				if got := len(d.written); got != 0 != writes || writes && got != 2 {
					t.Fatalf("%d transactions wrote, want an update and a deletion: %v", got, writes)
				}
				for _, steps := range d.written {
					d.check(t, k, steps)
				}
			})
		}
		t.Run(k.Name+"/new", func(t *testing.T) {
			d := &database{id: uuid.NewSHA1(uuid.Nil, []byte(k.Name)).String()}
			if err := connected(t, d).Create(t.Context(), resourceOf(t, k, d.id), 0); err != nil {
				t.Fatal(err)
			}
			d.check(t, k, d.written[0])
		})
	}
}

// check reports what a transaction changes without a proof in it.
func (d *database) check(t *testing.T, k ovn.Kind, steps []step) {
	t.Helper()
	writer := ovsdb.Map{"groundskeeper-cluster-t": "here", "groundskeeper-leader-t": "ns/lease 1 a"}
	fence := ovsdb.Condition{"external_ids", "includes", writer}
	if first := steps[0]; first.Op != "wait" || first.Table != globalTable || encoded(first.Where) != encoded([]ovsdb.Condition{fence}) {
		t.Errorf("the first operation is %+v, want that this process is the writer", first)
	}
	proven := func(s step) bool {
		allowed := []string{encoded(tagOf("t"))}
		if _, tagged := d.tags[TenantKey]; !tagged && d.tags != nil {
			allowed = append(allowed, encoded(ovsdb.Condition{tagColumn, "==", ovsdb.Map(d.tags)}))
		}
		return slices.ContainsFunc(s.Where, func(c ovsdb.Condition) bool { return slices.Contains(allowed, encoded(c)) })
	}
	required := false
	for _, s := range steps[1:] {
		own := s.Table == k.Table && isOf(s.Where, d.id)
		switch {
		case s.Op == "wait":
			required = required || own && (proven(s) || !k.IsTagged())
		case s.Op == "insert":
			tags, _ := json.Marshal(s.Row[tagColumn])
			if k.IsTagged() && string(tags) != `["map",[["`+TenantKey+`","t"]]]` {
				t.Errorf("a new row has the tags %s, want that of the tenant", tags)
			}
		case own && required:
		case s.Op == "mutate" && !own && s.onlyRefersTo(d.id) && (s.Table == parentTable(k) || proven(s)):
		default:
			t.Errorf("%+v is not preceded by a proof that the row is the tenant's", s)
		}
	}
}

// onlyRefersTo reports whether a step adds or removes only a reference to a row.
func (s step) onlyRefersTo(id string) bool {
	return !slices.ContainsFunc(s.Mutations, func(m ovsdb.Mutation) bool { return encoded(m[2]) != encoded(ovsdb.Set{ovsdb.UUID(id)}) })
}

func parentTable(k ovn.Kind) string {
	parent, _ := ovn.KindNamed(k.Parent)
	return parent.Table
}

// connected returns a driver of the tenant t whose database is d.
func connected(t *testing.T, d *database) *Backend {
	t.Helper()
	endpoint, err := ovsdb.ParseEndpoint(ovsdbtest.New(t, d.respond).Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	client, err := ovsdb.New(ovsdb.Options{Endpoints: []ovsdb.Endpoint{endpoint}, Database: ovsdbtest.Database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return New(client, "t", holds(1, "a"), derived)
}

// resourceOf returns a row of a kind, which a group lists if the kind has that.
func resourceOf(t *testing.T, k ovn.Kind, id string) backend.Resource {
	t.Helper()
	body := map[string]any{"id": id}
	for _, c := range k.Columns {
		switch {
		case c.ListedIn != "":
			body[c.Name] = []string{group}
		case c.Many || c.Type == ovn.Pairs || c.Type == ovn.Flag:
		case c.Type == ovn.Number:
			body[c.Name] = 1
		default:
			body[c.Name] = fmt.Sprintf("%s of it", c.Name)
		}
	}
	parent := ""
	if k.Parent != "" {
		parent = router
	}
	r, err := New(nil, "t", nil, derived).Resolve(backend.Item{Kind: k.Name, Parent: parent, Body: encoded(body)})
	if err != nil {
		t.Fatal(err)
	}
	r.Claim = ours
	return r
}
