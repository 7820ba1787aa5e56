// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/standin"
)

// keeper is a finalizer that keeps a Kluster after its release, so that its last status can be read.
const keeper = "example.com/keep"

// craft is a Kluster in a test, and what it has in OpenStack.
type craft struct {
	*orbit
	// api is a user of the project, who fails this test. It need not be the one in the Secret.
	*api
	k      *kubernikusv1.Kluster
	secret *corev1.Secret
	// standin is its cloud controllers, nil when it has none.
	standin *standin.Standin
	// realController specifies that the cluster has the cloud controller manager of OpenStack, and that only the CSI driver is a
	// stand-in.
	realController bool
	// named is the name that the cluster has in OpenStack; "": that of the Kluster.
	named string
	// had are the things that it had when a test looked.
	had []thing
}

// in returns the same user, in another test.
func (a *api) in(t testing.TB) *api {
	same := *a
	same.t = t
	return &same
}

// register registers a Kluster in a dedicated namespace, with a dedicated range on the router, and waits until OpenStack was
// checked. What it has there is deleted with the test.
func (o *orbit) register(t *testing.T, name string, kubeconfig []byte, change func(*craft)) *craft {
	t.Helper()
	own := o.home.in(t)
	d := &craft{orbit: o, api: own}
	t.Cleanup(d.sweep)
	d.k = &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name, Finalizers: []string{keeper}}}
	d.k.Spec.Version = "1.36.3"
	d.k.Spec.ClusterCIDR = new(fmt.Sprintf("100.%d.0.0/16", 64+o.registered.Add(1)))
	d.k.Spec.CloudProvider.ClusterName, d.k.Spec.CloudProvider.CSIClusterID = new(name+"-lb"), new(name+"-disk")
	d.secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name + "-secret"}, Data: own.secret("", "", own.password).Data}
	if kubeconfig != nil {
		d.secret.Data["kubeconfig"] = kubeconfig
	}
	if change != nil {
		change(d)
	}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, d.secret, d.k} {
		if err := o.c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	d.is(kubernikusv1.ConditionOpenStackReachable, "True/Reachable")
	return d
}

// is waits until a condition of the Kluster is Status/Reason.
func (d *craft) is(kind, want string) {
	d.t.Helper()
	d.until(kind+" is "+want, func() error {
		if c := meta.FindStatusCondition(d.k.Status.Conditions, kind); c == nil || string(c.Status)+"/"+c.Reason != want {
			return fmt.Errorf("conditions %+v, deorbit %+v", d.k.Status.Conditions, d.k.Status.Deorbit)
		}
		return nil
	})
}

// until waits until something holds of the Kluster, which is reread each time.
func (d *craft) until(what string, holds func() error) {
	d.t.Helper()
	within(d.t, d.k.Name+": "+what, func() error {
		if err := d.c.Get(d.t.Context(), client.ObjectKeyFromObject(d.k), d.k); err != nil {
			return err
		}
		return holds()
	})
}

// remains waits until a check reports that an object remains, with a reason that has these words.
func (d *craft) remains(kind, id, words string) {
	d.t.Helper()
	d.until(kind+" "+id+" remains: "+words, func() error {
		if at := d.k.Status.Deorbit; at == nil || !listed(at.Remaining, kind, id, words) {
			return fmt.Errorf("deorbit %+v, conditions %+v", at, d.k.Status.Conditions)
		}
		return nil
	})
}

// listed reports whether a list has an object of a kind, by its id or its name, with a reason that has these words.
func listed(list []kubernikusv1.DeorbitObject, kind, id, words string) bool {
	return slices.ContainsFunc(list, func(o kubernikusv1.DeorbitObject) bool {
		return o.Kind == kind && (o.ID == id || o.Name == id) && strings.Contains(o.Reason, words)
	})
}

// edit changes an object of the first clustereven if another client does so at the same time.
func (d *craft) edit(object client.Object, how func()) {
	d.t.Helper()
	within(d.t, "edit "+object.GetName(), func() error {
		if err := d.c.Get(d.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		how()
		return d.c.Update(d.t.Context(), object)
	})
}

// annotate sets an annotation of the Kluster.
func (d *craft) annotate(name, value string) {
	d.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, name, value)
	if err := d.c.Patch(d.t.Context(), d.k, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		d.t.Fatal(err)
	}
}

// leave deletes the Kluster.
func (d *craft) leave() {
	d.t.Helper()
	d.annotate("confirmation.gardener.cloud/deletion", "true")
	if err := d.c.Delete(d.t.Context(), d.k); err != nil {
		d.t.Fatal(err)
	}
}

// landed waits until the Kluster is released, and checks what is left of it in OpenStack, each thing as "Kind id", and
// that its neighbour has all that it had.
func (d *craft) landed(reason string, left ...string) {
	d.t.Helper()
	d.is(kubernikusv1.ConditionDeorbited, "True/"+reason)
	if d.k.HasDeorbiter() {
		d.t.Errorf("finalizers %v", d.k.Finalizers)
	}
	var got []string
	for _, thing := range d.things() {
		got = append(got, thing.kind+" "+thing.id)
	}
	if left = slices.Sorted(slices.Values(left)); !slices.Equal(got, left) {
		d.t.Errorf("%q is left, want %q; deorbit %+v", got, left, d.k.Status.Deorbit)
	}
	for _, missing := range d.unlisted() {
		d.t.Errorf("deorbit %+v: %s is in none of its lists", d.k.Status.Deorbit, missing)
	}
	for _, o := range d.k.Status.Deorbit.Remaining {
		if strings.HasPrefix(o.Reason, "removed: whether it stays away is checked") {
			continue // the Deorbit was ended before that was known
		}
		if o.Kind == "Route" && strings.Contains(o.Name, " via ") && !slices.Contains(got, "Route "+o.Name) {
			d.t.Errorf("the router has no route %s, and it is left over: %s", o.Name, o.Reason)
		}
	}
	d.unharmed(d.neighbour)
	d.reports("Deorbited", "")
}

// inventory checks that the project contains only the objects of the neighbour, whatever their names: each object that the other
// clusters created has been deleted, or was listed as left over and then swept. The port of the node is unchanged.
func (o *orbit) inventory(t *testing.T) {
	t.Helper()
	a := o.home.in(t)
	for _, object := range o.before.leftovers(a.list(projectCollections(a.projectID))) {
		t.Error("the deorbited clusters left behind", object)
	}
	for _, port := range a.portsOf(o.nodeID) {
		if len(port["security_groups"].([]any)) != 1 || len(port["tags"].([]any)) != 0 {
			t.Errorf("a port of the node has security groups %v and tags %v", port["security_groups"], port["tags"])
		}
	}
}

// projectCollections returns the collections of what a cluster makes in a project.
func projectCollections(project string) map[string]string {
	found := map[string]string{}
	for path, key := range collections {
		path, _, _ = strings.Cut(path, "?")
		switch {
		case strings.HasPrefix(path, "identity/"):
			continue
		case strings.HasPrefix(path, "network/"):
			path += "?project_id=" + project
		}
		found[path] = key
	}
	return found
}

// portsOf returns the ports of a server.
func (a *api) portsOf(server string) (ports []map[string]any) {
	a.t.Helper()
	for _, port := range a.call(http.MethodGet, "network/v2.0/ports?device_id="+server, nil).body["ports"].([]any) {
		ports = append(ports, port.(map[string]any))
	}
	return ports
}

// unharmed checks that a Kluster has all that it had, unchanged.
func (d *craft) unharmed(other *craft) {
	d.t.Helper()
	looks := *other
	looks.api = other.in(d.t)
	if now := looks.things(); !slices.Equal(now, other.had) {
		d.t.Errorf("Kluster %s had %+v, and has %+v", other.k.Name, other.had, now)
	}
}

// Waits for an event of the Kluster whose note has these words.
func (d *craft) reports(reason, words string) {
	d.t.Helper()
	within(d.t, "event "+reason, func() error {
		events, err := d.events()
		if err == nil && !slices.ContainsFunc(events, func(e string) bool {
			return strings.HasPrefix(e, reason+": ") && strings.Contains(e, words)
		}) {
			err = fmt.Errorf("events %q", events)
		}
		return err
	})
}

// events returns the events of the Kluster, each "Reason: note".
func (d *craft) events() (all []string, err error) {
	events := &eventsv1.EventList{}
	err = d.c.List(d.t.Context(), events, client.InNamespace(d.k.Namespace))
	for _, e := range events.Items {
		all = append(all, e.Reason+": "+e.Note)
	}
	return all, err
}

// cluster returns the name that the cluster has in OpenStack.
func (d *craft) cluster() string { return cmp.Or(d.named, d.k.ClusterName()) }

// thing is an object of a cluster in OpenStack, by its id; a route by what the status calls it.
type thing struct{ kind, id, path, text string }

// things returns what the cluster has in OpenStack, by plain requests, sorted.
func (d *craft) things() (all []thing) {
	d.t.Helper()
	cluster, disk := d.cluster(), d.k.CSIClusterID()
	list := func(kind, path, key string, is func(object map[string]any) bool) {
		d.t.Helper()
		service, _, _ := strings.Cut(path, "?")
		got := d.call(http.MethodGet, path, nil)
		objects, ok := got.body[key].([]any)
		if got.status != http.StatusOK || !ok {
			d.t.Fatalf("GET %s: %d %s", path, got.status, got.text)
		}
		for _, entry := range objects {
			if object := entry.(map[string]any); is(object) {
				text, _ := json.Marshal(object)
				all = append(all, thing{kind, object["id"].(string), strings.TrimSuffix(service, "/detail") + "/" + object["id"].(string), string(text)})
			}
		}
	}
	tagged := func(object map[string]any) bool { return object["metadata"].(map[string]any)[clusterTag] == disk }
	described := func(words string) func(object map[string]any) bool {
		return func(object map[string]any) bool {
			text, _ := object["description"].(string)
			return strings.HasSuffix(text, words+cluster)
		}
	}
	list("Volume", "block-storage/volumes/detail", "volumes", tagged)
	list("Snapshot", "block-storage/snapshots/detail", "snapshots", tagged)
	list("LoadBalancer", "load-balancer/v2/lbaas/loadbalancers", "loadbalancers", described(" from cluster "))
	list("FloatingIP", "network/v2.0/floatingips?project_id="+d.projectID, "floatingips", described(" from cluster "))
	list("SecurityGroup", "network/v2.0/security-groups?project_id="+d.projectID, "security_groups", described(" in cluster "))
	for _, entry := range d.must(http.MethodGet, "network/v2.0/routers/"+d.router, nil)["routes"].([]any) {
		route := entry.(map[string]any)
		if destination := route["destination"].(string); strings.HasPrefix(destination, strings.TrimSuffix(*d.k.Spec.ClusterCIDR, "0.0/16")) {
			all = append(all, thing{kind: "Route", id: fmt.Sprintf("%s via %s", destination, route["nexthop"])})
		}
	}
	slices.SortFunc(all, func(a, b thing) int { return strings.Compare(a.kind+" "+a.id, b.kind+" "+b.id) })
	return all
}

// of returns the id of the only thing of a kind.
func (d *craft) of(kind string) string {
	d.t.Helper()
	var ids []string
	for _, thing := range d.things() {
		if thing.kind == kind {
			ids = append(ids, thing.id)
		}
	}
	if len(ids) != 1 {
		d.t.Fatalf("%s: %v", kind, ids)
	}
	return ids[0]
}

// outfit makes what the cluster has in OpenStack besides routes (paths).
func (d *craft) outfit() {
	d.t.Helper()
	d.furnish(d.k.ClusterName(), d.k.CSIClusterID(), d.subnet, d.public)
}

// furnish makes by plain requests what a cluster has in OpenStack besides routes when nothing in it manages it. It returns the path of the
// security group, which is not deleted with the test.
func (a *api) furnish(cluster, disk, subnet, public string) (group string) {
	a.t.Helper()
	a.snapshot(a.volume(disk), disk)
	id := a.loadBalancer(subnet, "kube_service_"+cluster+"_shop_web", "description", "Kubernetes external service shop/web from cluster "+cluster)
	vip := a.must(http.MethodGet, loadBalancers+id, nil)["vip_port_id"].(string)
	a.floatingIP(public, vip, "Floating IP for Kubernetes external service shop/web from cluster "+cluster)
	return "network/v2.0/security-groups/" + a.must(http.MethodPost, "network/v2.0/security-groups", wrap("security_group", "name", "lb-sg-0e8b0a52-4d3c-4f0d-9d3c-6d3f1c9c0c11-shop-web",
		"description", "Security Group for shop/web Service LoadBalancer in cluster "+cluster))["id"].(string)
}

// paths adds two routes into the range of the cluster, one that leads to a server and one that leads nowhere.
func (d *craft) paths() {
	d.t.Helper()
	begin := strings.TrimSuffix(*d.k.Spec.ClusterCIDR, "0.0/16")
	d.must(http.MethodPut, "network/v2.0/routers/"+d.router+"/add_extraroutes", hops(begin+"1.0/24 10.0.0.5", begin+"2.0/24 10.0.0.77"))
}

// swept counts what sweep deleted.
var swept atomic.Int32

// sweep deletes whatever is left of a cluster when its test is over. What is left of a Kluster that was released is in its
// lists, or the test fails.
func (d *craft) sweep() {
	d.t.Helper()
	for _, missing := range d.unlisted() {
		d.t.Errorf("Kluster %s was released, but %s still exists and is not listed: %+v", d.k.Name, missing, d.k.Status.Deorbit)
	}
	seen := map[string]bool{}
	eventually(d.t, "nothing of "+d.k.Name+" is left", func() bool {
		left := slices.DeleteFunc(d.things(), func(t thing) bool { return t.path == "" }) // routes are deleted with the router
		for _, thing := range left {
			if !seen[thing.path] {
				seen[thing.path] = true
				swept.Add(1)
			}
			path := thing.path
			if thing.kind == "LoadBalancer" {
				path += "?cascade=true"
			}
			d.call(http.MethodDelete, path, nil)
		}
		return len(left) == 0
	})
}

// unlisted returns the objects of a released Kluster that still exist, and that its status lists neither as left over nor as
// retained.
func (d *craft) unlisted() (missing []string) {
	at := d.k.Status.Deorbit
	if !meta.IsStatusConditionTrue(d.k.Status.Conditions, kubernikusv1.ConditionDeorbited) || at == nil {
		return nil
	}
	for _, thing := range d.things() {
		if !listed(slices.Concat(at.Remaining, at.Retained, at.Undecided), thing.kind, thing.id, "") {
			missing = append(missing, thing.kind+" "+thing.id)
		}
	}
	return missing
}
