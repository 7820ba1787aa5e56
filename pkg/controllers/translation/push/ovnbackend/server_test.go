// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// lease is one that a test gives and takes.
type lease struct {
	cluster string
	mu      sync.Mutex
	term    Term
	err     error
}

func (l *lease) Cluster(context.Context) (string, error) { return cmp.Or(l.cluster, "here"), nil }

func (l *lease) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *lease) Term() Term {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term
}

func (l *lease) set(term Term, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.term, l.err = term, err
}

func holds(transitions int, holder string) *lease {
	return &lease{term: Term{Lease: "ns/lease", Transitions: transitions, Holder: holder}}
}

// dial connects a driver to a server.
func dial(t *testing.T, server *ovnserver.Server, l Lease) *Backend {
	t.Helper()
	endpoint, err := ovsdb.ParseEndpoint(server.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	client, err := ovsdb.New(ovsdb.Options{Endpoints: []ovsdb.Endpoint{endpoint}, Database: Database, Accept: checkSchema, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return New(client, "t", l, derived)
}

func resolve(t *testing.T, b *Backend, kind, parent, format string, values ...any) backend.Resource {
	t.Helper()
	r, err := b.Resolve(backend.Item{Kind: kind, Parent: parent, Body: fmt.Sprintf(format, values...)})
	if err != nil {
		t.Fatal(err)
	}
	r.Claim = ours
	return r
}

func mustCreate(t *testing.T, b *Backend, r backend.Resource) {
	t.Helper()
	if err := b.Create(t.Context(), r, 0); err != nil {
		t.Fatalf("create %s: %v", r, err)
	}
}

func expectReason(t *testing.T, what string, err error, want backend.Reason) {
	t.Helper()
	if err == nil || backend.ReasonOf(err) != want {
		t.Errorf("%s: error = %v, want the reason %v", what, err, want)
	}
}

func TestRowsOfServer(t *testing.T) {
	server := ovnserver.Start(t, ovnserver.Options{})
	b := dial(t, server, holds(1, "a"))
	child := resolve(t, b, "LogicalSwitchPort", zone, `{"id":%q,"name":"p","addresses":["0a:58:0a:01:00:05 10.1.0.5"],"external_ids":{"pod":"p"}}`, port)
	expectReason(t, "a port without its switch", b.Create(t.Context(), child, 0), backend.NotFound)
	parent := resolve(t, b, "LogicalSwitch", "", `{"id":%q,"name":"a","other_config":{"x":"1"}}`, zone)
	mustCreate(t, b, parent)
	mustCreate(t, b, child)
	expectReason(t, "a port twice", b.Create(t.Context(), child, 0), backend.Conflict)
	namesake := resolve(t, b, "LogicalSwitchPort", zone, `{"id":%q,"name":"p"}`, group)
	expectReason(t, "a name twice", b.Create(t.Context(), namesake, 0), backend.Conflict)
	wrong := resolve(t, b, "LoadBalancerGroup", "", `{"id":%q,"name":"g"}`, group)
	mustCreate(t, b, wrong)
	expectReason(t, "an invalid value", b.Create(t.Context(), resolve(t, b, "LoadBalancer", group, `{"id":%q,"protocol":"icmp"}`, router), 0), backend.Refused)

	have, found, err := b.Get(t.Context(), child)
	if err != nil || !found || have.Parent != zone || have.Foreign || len(b.Differences(child, have)) != 0 {
		t.Fatalf("port = %+v, %v, %v; want what was created below %s", have, found, err, zone)
	}
	server.Nbctl(t, "set", "Logical_Switch_Port", "p", "external_ids:other=x", "options:requested-chassis=h", "options:mcast_flood=true", "type=router")
	server.Nbctl(t, "remove", "Logical_Switch_Port", "p", "external_ids", TenantKey)
	have, _, err = b.Get(t.Context(), child)
	if err != nil || strings.Join(b.Differences(child, have), ",") != TenantKey {
		t.Errorf("differences = %v, %v; want the tag that is missing", b.Differences(child, have), err)
	}
	if err := b.Update(t.Context(), resolve(t, b, "LogicalSwitchPort", zone, `{"id":%q,"name":"q","enabled":false,"external_ids":{"pod":"q"}}`, port)); err != nil {
		t.Fatal(err)
	}
	if row := server.Nbctl(t, "--bare", "--columns=name,type,addresses,options,enabled,external_ids", "list", "Logical_Switch_Port", port); row != "q\n\n\nmcast_flood=true\nfalse\ngroundskeeper-tenant=t other=x pod=q" {
		t.Errorf("row = %q, want what the new body has, and the pairs of another client", row)
	}
	list, err := b.List(t.Context(), backend.Collection{Kind: "LogicalSwitchPort", ParentKind: "LogicalSwitch", Parent: zone})
	if err != nil || len(list) != 1 || list[0].ID != port || list[0].Foreign || list[0].Parent != zone {
		t.Errorf("list = %+v, %v; want the port", list, err)
	}
	_, err = b.List(t.Context(), backend.Collection{Kind: "LogicalSwitchPort", ParentKind: "LogicalSwitch", Parent: router})
	expectReason(t, "a list without its parent", err, backend.NotFound)
	for range 2 {
		if err := b.Delete(t.Context(), child.Ref); err != nil {
			t.Fatal(err)
		}
	}
	if _, found, err := b.Get(t.Context(), child); found || err != nil {
		t.Errorf("the port is there after its deletion: %v", err)
	}
	expectReason(t, "an update of nothing", b.Update(t.Context(), child), backend.NotFound)
}

// TestGroupsOfPorts checks that the transaction that creates a port adds it to its groups, and that its membership in groups of
// other clients is not changed.
func TestGroupsOfPorts(t *testing.T) {
	server := ovnserver.Start(t, ovnserver.Options{})
	b := dial(t, server, holds(1, "a"))
	first, second := "00000000-0000-5000-8000-00000000000a", "00000000-0000-5000-8000-00000000000b"
	in := func(groups string) backend.Resource {
		return resolve(t, b, "LogicalSwitchPort", zone, `{"id":%q,"name":"p","port_groups":[`+groups+`]}`, port)
	}
	expectGroups := func(when string, want ...string) {
		t.Helper()
		if got := strings.Fields(server.Nbctl(t, "--bare", "--columns=name", "find", "Port_Group", "ports{>=}"+port)); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("%s the port is in %v, want %v", when, got, want)
		}
	}
	mustCreate(t, b, resolve(t, b, "LogicalSwitch", "", `{"id":%q,"name":"a"}`, zone))
	mustCreate(t, b, resolve(t, b, "PortGroup", "", `{"id":%q,"name":"first"}`, first))
	both := in(`"` + first + `","` + second + `"`)
	expectReason(t, "a port of a group that is missing", b.Create(t.Context(), both, 0), backend.NotFound)
	if ports := server.Nbctl(t, "lsp-list", "a"); ports != "" {
		t.Errorf("without the group there is the port %s", ports)
	}
	mustCreate(t, b, resolve(t, b, "PortGroup", "", `{"id":%q,"name":"second"}`, second))
	mustCreate(t, b, both)
	expectGroups("after its creation", "first", "second")
	server.Nbctl(t, "pg-add", "theirs", "p")
	have, _, err := b.Get(t.Context(), both)
	if err != nil || len(b.Differences(both, have)) != 0 {
		t.Errorf("differences = %v, %v; want none by a group of another client", b.Differences(both, have), err)
	}
	server.Nbctl(t, "clear", "Port_Group", "second", "ports")
	list, err := b.List(t.Context(), backend.Collection{Kind: "LogicalSwitchPort", ParentKind: "LogicalSwitch", Parent: zone})
	if err != nil || len(list) != 1 || !slices.Equal(b.Differences(both, list[0]), []string{"port_groups"}) {
		t.Errorf("list = %+v, %v; want a port that is not in its groups", list, err)
	}
	theirs := server.Nbctl(t, "--bare", "--columns=_uuid", "find", "Port_Group", "name=theirs")
	expectReason(t, "a group of another client", b.Update(t.Context(), in(`"`+theirs+`"`)), backend.NotFound)
	if err := b.Update(t.Context(), in(`"`+second+`"`)); err != nil {
		t.Fatal(err)
	}
	expectGroups("after an update", "second", "theirs")
	if err := b.Update(t.Context(), resolve(t, b, "PortGroup", "", `{"id":%q,"name":"renamed"}`, second)); err != nil {
		t.Fatal(err)
	}
	expectGroups("after an update of the group", "renamed", "theirs")
	if err := b.Delete(t.Context(), both.Ref); err != nil {
		t.Fatal(err)
	}
	expectGroups("after its deletion")
}

// TestRowsOfOthers checks that rows without the tenant's tag are not changed, unless their id shows that they are the tenant's.
func TestRowsOfOthers(t *testing.T) {
	server := ovnserver.Start(t, ovnserver.Options{})
	b := dial(t, server, holds(1, "a"))
	server.Nbctl(t, "--id="+random, "create", "Logical_Switch", "name=theirs")
	theirs := resolve(t, b, "LogicalSwitch", "", `{"id":%q,"name":"ours"}`, random)
	expectReason(t, "an update", b.Update(t.Context(), theirs), backend.Refused)
	if err := b.Delete(t.Context(), theirs.Ref); err != nil {
		t.Error(err)
	}
	if name := server.Nbctl(t, "get", "Logical_Switch", random, "name"); name != "theirs" {
		t.Errorf("name = %q, want theirs", name)
	}
	have, found, err := b.Get(t.Context(), theirs)
	if err != nil || !found || !have.Foreign {
		t.Errorf("switch = %+v, %v, %v; want a foreign one", have, found, err)
	}
	server.Nbctl(t, "set", "Logical_Switch", random, "external_ids:"+TenantKey+"=t")
	if err := b.Update(t.Context(), theirs); err != nil {
		t.Errorf("after it was handed over: %v", err)
	}
	if err := b.Delete(t.Context(), theirs.Ref); err != nil || server.Nbctl(t, "ls-list") != "" {
		t.Errorf("the switch is there after its deletion: %v", err)
	}
}

// TestRowsOfAnotherTenant checks that the tag of another tenant takes precedence over an id that a converter could have derived, such as
// that of a Translation restored from the backup of another cluster.
func TestRowsOfAnotherTenant(t *testing.T) {
	server := ovnserver.Start(t, ovnserver.Options{})
	b := dial(t, server, holds(1, "a"))
	for _, row := range []struct{ table, kind string }{{"Logical_Switch", "LogicalSwitch"}, {"Logical_Router", "LogicalRouter"}, {"Port_Group", "PortGroup"}} {
		t.Run(row.kind, func(t *testing.T) {
			id := map[string]string{"LogicalSwitch": zone, "LogicalRouter": router, "PortGroup": group}[row.kind]
			server.Nbctl(t, "--id="+id, "create", row.table, "name=theirs", "external_ids:"+TenantKey+"=other")
			theirs := resolve(t, b, row.kind, "", `{"id":%q,"name":"ours"}`, id)
			err := b.Update(t.Context(), theirs)
			expectReason(t, "an update", err, backend.Refused)
			if err != nil && !strings.Contains(err.Error(), "tenant other") {
				t.Errorf("error = %v, want one that names the other tenant", err)
			}
			if err := b.Delete(t.Context(), theirs.Ref); err != nil {
				t.Errorf("delete = %v, want no error: none of this tenant exists", err)
			}
			if name := server.Nbctl(t, "get", row.table, id, "name"); name != "theirs" {
				t.Errorf("name = %q, want theirs", name)
			}
			server.Nbctl(t, "remove", row.table, id, "external_ids", TenantKey)
			another := theirs
			another.Claim.Name = "another"
			expectReason(t, "an update of a row without a tag, by a Translation that its id is not derived from", b.Update(t.Context(), another), backend.Refused)
			if err := b.Delete(t.Context(), another.Ref); err != nil || server.Nbctl(t, "get", row.table, id, "name") != "theirs" {
				t.Errorf("delete = %v, want no error, and that the row is there", err)
			}
			if err := b.Update(t.Context(), theirs); err != nil {
				t.Errorf("without a tag: %v", err)
			}
			if err := b.Delete(t.Context(), theirs.Ref); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNamesOfOthers checks that a row whose name another one has reports whose that is, and what to do.
func TestNamesOfOthers(t *testing.T) {
	server := ovnserver.Start(t, ovnserver.Options{})
	b := dial(t, server, holds(1, "a"))
	mustCreate(t, b, resolve(t, b, "LogicalSwitch", "", `{"id":%q,"name":"a"}`, zone))
	for owner, want := range map[string]string{"other": "of tenant other", "t": "of this tenant", "": "of another client"} {
		t.Run(want, func(t *testing.T) {
			server.Nbctl(t, "ls-add", "theirs", "--", "lsp-add", "theirs", "p")
			if owner != "" {
				server.Nbctl(t, "set", "Logical_Switch_Port", "p", "external_ids:"+TenantKey+"="+owner)
			}
			id := server.Nbctl(t, "--bare", "--columns=_uuid", "list", "Logical_Switch_Port", "p")
			err := b.Create(t.Context(), resolve(t, b, "LogicalSwitchPort", zone, `{"id":%q,"name":"p"}`, port), 0)
			expectReason(t, "a creation", err, backend.Conflict)
			if text := fmt.Sprint(err); !strings.HasPrefix(text, "row "+id+" "+want+` has the name "p": `) || strings.Contains(text, "Transaction") {
				t.Errorf("error = %s, want the row %s %s", text, id, want)
			}
			server.Nbctl(t, "ls-del", "theirs")
		})
	}
}

// TestGroupsOfAnotherTenant checks that a row of a table without tags is neither created, changed nor deleted for a Translation that its id
// is not derived from.
func TestGroupsOfAnotherTenant(t *testing.T) {
	server := ovnserver.Start(t, ovnserver.Options{})
	b := dial(t, server, holds(1, "a"))
	restored := resolve(t, b, "LoadBalancerGroup", "", `{"id":%q,"name":"other-services"}`, theirs)
	expectReason(t, "a creation", b.Create(t.Context(), restored, 0), backend.Refused)
	server.Nbctl(t, "--id="+theirs, "create", "Load_Balancer_Group", "name=other")
	expectReason(t, "an update", b.Update(t.Context(), restored), backend.Refused)
	if err := b.Delete(t.Context(), restored.Ref); err != nil {
		t.Errorf("delete = %v, want no error: none is known to be of this tenant", err)
	}
	if name := server.Nbctl(t, "get", "Load_Balancer_Group", theirs, "name"); name != "other" {
		t.Errorf("name = %q, want other", name)
	}
}

// TestLongList checks that a list that is too long for one transaction returns all rows, with the groups of each.
func TestLongList(t *testing.T) {
	server := ovnserver.Start(t, ovnserver.Options{})
	b := dial(t, server, &lease{})
	mustCreate(t, b, resolve(t, b, "LogicalSwitch", "", `{"id":%q,"name":"a"}`, zone))
	mustCreate(t, b, resolve(t, b, "LogicalSwitch", "", `{"id":%q,"name":"b"}`, router))
	mustCreate(t, b, resolve(t, b, "LogicalSwitchPort", router, `{"id":%q,"name":"other"}`, port))
	for i := range mostListers + 1 {
		mustCreate(t, b, resolve(t, b, "PortGroup", "", `{"id":"00000000-0000-5000-8000-1%011d","name":"g%d"}`, i, i))
	}
	for i := range mostSelected + 1 {
		mustCreate(t, b, resolve(t, b, "LogicalSwitchPort", zone, `{"id":"00000000-0000-5000-8000-%012d","name":"p%d","port_groups":["00000000-0000-5000-8000-1%011d"]}`,
			i+1, i, i%(mostListers+1)))
		if i < mostSelected-1 {
			continue
		}
		list, err := b.List(t.Context(), backend.Collection{Kind: "LogicalSwitchPort", ParentKind: "LogicalSwitch", Parent: zone})
		if err != nil || len(list) != i+1 {
			t.Fatalf("%d ports, %v; want %d", len(list), err, i+1)
		}
		for _, have := range list {
			if !strings.Contains(string(have.Body), `"port_groups":["00000000-0000-5000-8000-1`) {
				t.Errorf("port = %s, want one with its group", have.Body)
			}
		}
	}
}

// TestFenceOfServer checks that only the leader writes: a process that lost the Lease does not, even if it considers itself the
// leader.
func TestFenceOfServer(t *testing.T) {
	server := ovnserver.Start(t, ovnserver.Options{})
	first, second := holds(1, "a"), holds(2, "b")
	old, young := dial(t, server, first), dial(t, server, second)
	mustCreate(t, old, resolve(t, old, "LogicalSwitch", "", `{"id":%q,"name":"a"}`, zone))
	first.set(first.Term(), errors.New("no Lease"))
	expectReason(t, "a write without the Lease", old.Delete(t.Context(), backend.Ref{Key: backend.Key{Kind: "LogicalSwitch", ID: zone}}), backend.Fenced)
	mustCreate(t, young, resolve(t, young, "LogicalRouter", "", `{"id":%q,"name":"r"}`, router))
	first.set(first.Term(), nil) // as if its machine had been suspended
	for range 2 {
		err := old.Delete(t.Context(), backend.Ref{Key: backend.Key{Kind: "LogicalSwitch", ID: zone}})
		expectReason(t, "a write of the former leader", err, backend.Fenced)
		if err != nil && !strings.Contains(err.Error(), "ovn-nbctl remove NB_Global . external_ids groundskeeper-leader-t") {
			t.Errorf("error = %v, want one with the remedy", err)
		}
	}
	renamed := dial(t, server, &lease{term: Term{Lease: "ns/renamed", Transitions: 9, Holder: "d"}})
	expectReason(t, "a write of a leader by another Lease", renamed.Delete(t.Context(), backend.Ref{Key: backend.Key{Kind: "LogicalSwitch", ID: zone}}), backend.Fenced)
	expectReason(t, "a write of a process that never led", dial(t, server, holds(1, "c")).Delete(t.Context(), backend.Ref{Key: backend.Key{Kind: "LogicalSwitch", ID: zone}}), backend.Fenced)
	// The record comes back when another client removes it, and the database of yesterday is no obstacle.
	for _, change := range [][]string{{"remove", "NB_Global", ".", "external_ids", "groundskeeper-leader-t"}, {"set", "NB_Global", ".", `external_ids:groundskeeper-leader-t="ns/lease 1 a"`}} {
		server.Nbctl(t, change...)
		if err := young.Update(t.Context(), resolve(t, young, "LogicalRouter", "", `{"id":%q,"name":"r2"}`, router)); err != nil {
			t.Errorf("after %v: %v", change, err)
		}
	}
	// A later term of the same process.
	first.set(Term{Lease: "ns/lease", Transitions: 3, Holder: "a"}, nil)
	if err := old.Delete(t.Context(), backend.Ref{Key: backend.Key{Kind: "LogicalSwitch", ID: zone}}); err != nil {
		t.Errorf("a write of the new leader: %v", err)
	}
	expectReason(t, "a write of the replaced leader", young.Delete(t.Context(), backend.Ref{Key: backend.Key{Kind: "LogicalRouter", ID: router}}), backend.Fenced)
}

// TestFenceOfAnotherCluster checks that the controller manager of one cluster writes the resources of a tenant, whatever the terms of the
// Leases of both clusters are: they have the same name and are counted separately.
func TestFenceOfAnotherCluster(t *testing.T) {
	for name, other := range map[string]*lease{
		"a later term":               holds(2, "b"),
		"an earlier term":            holds(0, "b"),
		"the Lease was just created": {term: Term{Lease: "ns/lease", Holder: "b", First: true}},
		"without an election":        {},
	} {
		t.Run(name, func(t *testing.T) {
			server := ovnserver.Start(t, ovnserver.Options{})
			one := dial(t, server, holds(1, "a"))
			mustCreate(t, one, resolve(t, one, "LogicalSwitch", "", `{"id":%q,"name":"a"}`, zone))
			other.cluster = "there"
			two := dial(t, server, other)
			err := two.Delete(t.Context(), backend.Ref{Key: backend.Key{Kind: "LogicalSwitch", ID: zone}})
			expectReason(t, "a write of another cluster", err, backend.Refused)
			for _, part := range []string{"here", "there", "groundskeeper-cluster-t"} {
				if err != nil && !strings.Contains(err.Error(), part) {
					t.Errorf("error = %v, want one with %q", err, part)
				}
			}
			mustCreate(t, one, resolve(t, one, "LogicalRouter", "", `{"id":%q,"name":"r"}`, router))
			server.Nbctl(t, "remove", "NB_Global", ".", "external_ids", "groundskeeper-cluster-t", "groundskeeper-leader-t")
			if err := two.Delete(t.Context(), backend.Ref{Key: backend.Key{Kind: "LogicalSwitch", ID: zone}}); err != nil {
				t.Errorf("after the records were removed: %v", err)
			}
			expectReason(t, "a write of the former cluster", one.Delete(t.Context(), backend.Ref{Key: backend.Key{Kind: "LogicalRouter", ID: router}}), backend.Refused)
		})
	}
}

// TestWatchOfServer checks that changes by other clients are reported immediately, and the driver's own changes never.
func TestWatchOfServer(t *testing.T) {
	server := ovnserver.Start(t, ovnserver.Options{})
	b := dial(t, server, holds(1, "a"))
	changed := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = b.Watch(ctx, func() { changed <- struct{}{} })
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	// The monitor is there when a change of another client is seen.
	server.Nbctl(t, "--id="+router, "create", "Logical_Router", "name=r")
	for waiting := true; waiting; {
		server.Nbctl(t, "set", "Logical_Router", router, fmt.Sprintf("options:x=%d", time.Now().UnixNano()))
		select {
		case <-changed:
			waiting = false
		case <-time.After(100 * time.Millisecond):
		}
	}
	for len(changed) > 0 {
		<-changed
	}
	child := resolve(t, b, "LogicalSwitchPort", zone, `{"id":%q,"name":"p"}`, port)
	mustCreate(t, b, resolve(t, b, "LogicalSwitch", "", `{"id":%q,"name":"a"}`, zone))
	mustCreate(t, b, child)
	if err := errors.Join(b.Update(t.Context(), resolve(t, b, "LogicalSwitchPort", zone, `{"id":%q,"name":"p","type":"router"}`, port)),
		b.Delete(t.Context(), backend.Ref{Key: backend.Key{Kind: "LogicalSwitch", ID: zone}})); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, b, resolve(t, b, "PortGroup", "", `{"id":%q,"name":"g"}`, group))
	mustCreate(t, b, resolve(t, b, "LogicalSwitch", "", `{"id":%q,"name":"a"}`, zone))
	mustCreate(t, b, resolve(t, b, "LogicalSwitchPort", zone, `{"id":%q,"name":"p","port_groups":[%q]}`, port, group))
	if len(changed) > 0 {
		t.Error("the driver's own changes were reported")
	}
	server.Nbctl(t, "clear", "Port_Group", "g", "ports")
	select {
	case <-changed:
	case <-time.After(30 * time.Second):
		t.Error("a port that another client removed from its group was not reported")
	}
	server.Nbctl(t, "lr-del", router)
	select {
	case <-changed:
	case <-time.After(30 * time.Second):
		t.Error("the deletion by another client was not reported")
	}
}
