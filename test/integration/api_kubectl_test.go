// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKubectl runs each verb of kubectl on each kind, through the aggregator.
func TestKubectl(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		t.Run(kind.kind, func(t *testing.T) {
			t.Parallel()
			u := user{t: t, kind: kind, name: name(t, "kubectl")}
			if kind.namespaced {
				u.namespace = freshNamespace(t, "kubectl")
			}
			u.applies()
			events := u.watches()
			u.waits()
			u.changes()
			u.reads()
			u.replaces()
			u.deletes()
			u.name = name(t, "applied")
			u.appliesServerSide()
			if diff := cmp.Diff([]string{"ADDED", "MODIFIED", "DELETED"}, <-events); diff != "" {
				t.Errorf("get --watch saw (-want +got):\n%s", diff)
			}
		})
	}
}

func (u user) applies() {
	u.t.Helper()
	u.prints(u.run(u.kind.manifest, "apply", "-f", "-"), u.name+" created")
	u.settles("1")
	// kubectl may print "configured", because it compares the manifest with defaults that the server filled in.
	u.writesNothing(func() { u.run(u.kind.manifest, "apply", "-f", "-") })
}

// waits lets kubectl wait for a condition, and makes it come true.
func (u user) waits() {
	u.t.Helper()
	waited := make(chan error, 1)
	go func() {
		_, err := u.try("", "wait", "--for=condition="+u.kind.condition, "--timeout=60s", u.kind.resource+"/"+u.name)
		waited <- err
	}()
	before := u.value("{.metadata.generation}")
	u.prints(u.run("", "patch", u.kind.resource, u.name, "--subresource=status", "--type=merge", "-p", u.kind.status), "patched")
	if err := <-waited; err != nil {
		u.t.Fatal(err)
	}
	if after := u.value("{.metadata.generation}"); after != before {
		u.t.Errorf("the status raised the generation from %s to %s", before, after)
	}
}

func (u user) changes() {
	u.t.Helper()
	u.prints(u.run("", "patch", u.kind.resource, u.name, "--type=merge", "-p", u.kind.change), "patched")
	u.settles("2") // kubectl compares what it reads with the response
	u.prints(u.run("", "patch", u.kind.resource, u.name, "--type=merge", "-p", u.kind.change), "(no change)")
	if value, generation := u.value(u.kind.changed), u.value("{.metadata.generation}"); value != u.kind.value || generation != "2" {
		u.t.Errorf("after a change: %s is %q, generation %s", u.kind.changed, value, generation)
	}
}

// reads checks the object in every way that finds it.
func (u user) reads() {
	u.t.Helper()
	u.settles("2")
	lines := strings.Split(u.run("", "get", u.kind.short, u.name, "-o", "wide"), "\n")
	if header := strings.Fields(lines[0]); !slices.Equal(header, u.kind.header) {
		u.t.Errorf("columns %q, want %q", header, u.kind.header)
	}
	row, want := strings.Fields(lines[1]), strings.Fields(u.named(strings.Join(u.kind.row, " ")))
	if len(row) <= len(want) || !slices.Equal(row[:len(want)], want) {
		u.t.Errorf("row %q, want %q and an age", row, want)
	}
	if found := u.run("", "get", u.kind.resource, "-o", "name", "--field-selector="+u.named(u.kind.selector)); found != u.kind.resourceName(u.name) {
		u.t.Errorf("the field selector %s finds %q", u.kind.selector, found)
	}
	u.prints(u.run("", "get", "groundskeeper", "-o", "name"), u.kind.resourceName(u.name))
	u.prints(u.run("", "describe", u.kind.resource, u.name), u.kind.kind)
}

// replaces puts the manifest back as written, except for what cannot go back. What the server and the controllers added stays.
func (u user) replaces() {
	u.t.Helper()
	const kept = "{.metadata.finalizers} {.metadata.uid} {.spec.namespace} {.spec.createdBy} {.spec.secretRef} {.status.conditions[*].type}"
	before := u.value(kept)
	u.prints(before, u.kind.finalizer)
	manifest := strings.ReplaceAll(u.kind.manifest, "version: 1.36.2", "version: 1.36.3")
	u.prints(u.run(manifest, "replace", "-f", "-"), "replaced")
	if diff := cmp.Diff(before, u.value(kept)); diff != "" {
		u.t.Errorf("replace changed what it must keep (-before +after):\n%s", diff)
	}
}

// appliesServerSide creates the object by server-side apply. A client that applies receives a conflict if another manager owns a
// field.
func (u user) appliesServerSide() {
	u.t.Helper()
	apply := []string{"apply", "--server-side", "--field-manager=gitops", "-f", "-"}
	u.prints(u.run(u.kind.manifest, apply...), "serverside-applied")
	u.settles("1")
	u.writesNothing(func() { u.run(u.kind.manifest, apply...) })
	u.run("", "patch", u.kind.resource, u.name, "--type=merge", "--field-manager=rival", "-p", u.kind.change)
	if _, err := u.try(u.kind.manifest, apply...); err == nil || !strings.Contains(err.Error(), `conflict with "rival"`) {
		u.t.Errorf("applying over a rival's field ends with: %v", err)
	}
	_, err := u.try(u.kind.manifest, append(apply, "--force-conflicts")...)
	if u.kind.kind == "Kluster" { // its version cannot be decreased, not even with --force
		u.rejected(err, "spec.version")
	} else if generation := u.value("{.metadata.generation}"); err != nil || generation != "3" {
		u.t.Errorf("applying by force: %v, generation %s", err, generation)
	}
}

func (u user) deletes() {
	u.t.Helper()
	if u.kind.confirmed {
		_, err := u.try("", "delete", u.kind.resource, u.name, "--wait=false")
		u.rejected(err, `must have a "confirmation.gardener.cloud/deletion" annotation to delete`)
		u.run("", "annotate", u.kind.resource, u.name, "confirmation.gardener.cloud/deletion=true")
	}
	if len(u.kind.settled) > 0 {
		u.prints(u.run("", "delete", u.kind.resource, u.name, "--timeout=60s"), "deleted")
	} else {
		u.prints(u.run("", "delete", u.kind.resource, u.name, "--wait=false"), "deleted")
		u.prints(u.value("{.metadata.finalizers}"), u.kind.finalizer)
		u.run("", "patch", u.kind.resource, u.name, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		u.run("", "wait", "--for=delete", "--timeout=60s", u.kind.resource+"/"+u.name)
	}
	if out, err := u.try("", "get", u.kind.resource, u.name); err == nil {
		u.t.Errorf("it is still there: %s", out)
	}
}

// TestExamples checks that the examples can be applied unchanged.
func TestExamples(t *testing.T) {
	t.Parallel()
	out, err := kubectl(t, "", "apply", "-f", "../../artifacts/examples")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"discoverybackend.gimbal.heptio.com/openstack001 created",
		"discoverybackend.gimbal.heptio.com/kubernetes001 created",
		"project.core.gardener.cloud/example created", "",
	}, "\n")
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("kubectl apply (-want +got):\n%s", diff)
	}
	// As written: "enabled" is stored in its one spelling, and credentials is not made a secret.
	out, err = kubectl(t, "", "get", "dbe", "--namespace=gimbal-discovery", "openstack001", "kubernetes001", "-o",
		`jsonpath={range .items[*]}{.cluster.type} {.cluster.clusterStatus} {.cluster.secret}|{.cluster.credentials} {.cluster.refreshInterval}{"\n"}{end}`)
	if err != nil {
		t.Fatal(err)
	}
	want = "openstack Enabled remote-discover-openstack| 30\nkubernetes Enabled |kubernetes001-kubecfg 1800\n"
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("the backends (-want +got):\n%s", diff)
	}
	if _, err := kubectl(t, "", "wait", "--for=jsonpath={.status.phase}=Ready", "--timeout=60s", "project/example"); err != nil {
		t.Error(err)
	}
	if _, err := kubectl(t, "", "apply", "-f", "../../artifacts/examples"); err != nil {
		t.Errorf("once more: %v", err)
	}
}
