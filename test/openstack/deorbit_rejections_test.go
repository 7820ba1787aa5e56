// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/standin"
)

const rejected = "which rejected its deletion"

// testPolicyThatRejects checks that an object whose deletion a ValidatingAdmissionPolicy in the cluster rejects is not deleted in
// OpenStack either, even after the timeout of the stages inside the cluster.
func testPolicyThatRejects(t *testing.T, o *orbit) {
	d := o.launch(t, "policy", func(d *craft) { d.k.Spec.Deorbit.StageTimeout = during(3 * time.Second) })
	volume := d.claim("data", "cinder")
	d.serve("web")
	meta := metav1.ObjectMeta{Name: "keep-data"}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: new(admissionv1.Fail), Validations: []admissionv1.Validation{{Expression: "false", Message: "it is kept"}},
		MatchConstraints: &admissionv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: d.k.Name}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Delete},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"persistentvolumeclaims", "services"}},
			}}},
		}}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: meta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}
	d.make(policy, binding)
	t.Cleanup(func() {
		for _, object := range []client.Object{binding, policy} {
			if err := d.inside.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		}
		within(t, "the policy is discarded", func() error { // the API server receives the change by a watch
			err := d.inside.Delete(context.Background(), d.pending("data", "cinder"), client.DryRunAll)
			return client.IgnoreNotFound(err)
		})
	})
	within(t, "the policy rejects", func() error {
		if err := d.inside.Delete(t.Context(), d.pending("data", "cinder"), client.DryRunAll); !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("not yet: %w", err)
		}
		return nil
	})
	var left []string
	for _, thing := range d.things() {
		left = append(left, thing.kind+" "+thing.id)
	}
	d.leave()
	d.until("only what the cluster rejected remains", func() error {
		at := d.k.Status.Deorbit
		if at == nil || at.Stage != kubernikusv1.DeorbitRelease || !listed(at.Remaining, "Volume", volume, rejected) ||
			!listed(at.Remaining, "LoadBalancer", d.of("LoadBalancer"), rejected) {
			return fmt.Errorf("deorbit %+v", at)
		}
		return nil
	})
	d.selfDestruct()
	d.landed("Leftovers", left...)
}

// The security group of a Service is removed from the port of a node when the cloud controller manager is dead, and all other
// groups of the port stay.
func testPortsOfADeadController(t *testing.T, o *orbit) {
	d := o.launch(t, "ports", func(d *craft) { d.k.Spec.Deorbit.StageTimeout = during(3 * time.Second) })
	d.serve("web")
	group := d.of("SecurityGroup")
	ports := d.call(http.MethodGet, "network/v2.0/ports?device_id="+o.nodeID, nil).body["ports"].([]any)
	port := ports[0].(map[string]any)
	path := "network/v2.0/ports/" + port["id"].(string)
	before := port["security_groups"].([]any)
	// As the cloud controller manager does: the tag first, then the group.
	d.must(http.MethodPut, path+"/tags/"+group, nil)
	d.must(http.MethodPut, path, wrap("port", "security_groups", append(slices.Clone(before), group)))
	t.Cleanup(func() { d.call(http.MethodPut, path, wrap("port", "security_groups", before)) })
	d.standin.SetDead(true)
	d.leave()
	d.landed("Deorbited")
	after := d.must(http.MethodGet, path, nil)
	if !slices.Equal(after["security_groups"].([]any), before) || len(after["tags"].([]any)) != 0 {
		t.Errorf("groups = %v, tags = %v, want the groups %v alone", after["security_groups"], after["tags"], before)
	}
}

// testRoutesThatComeBack checks that a route that a cloud controller manager recreates continuously is left alone while its node
// exists, and is left over in the end.
func testRoutesThatComeBack(t *testing.T, o *orbit) {
	d := o.launch(t, "routes", func(d *craft) { d.k.Spec.Deorbit.StageTimeout = during(10 * time.Second) })
	d.paths()
	begin := strings.TrimSuffix(*d.k.Spec.ClusterCIDR, "0.0/16")
	route := hops(begin + "1.0/24 10.0.0.5")
	writer, done, ended := d.in(t), make(chan struct{}), make(chan struct{})
	go func() { // the resync of the route controller
		defer close(ended)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				writer.call(http.MethodPut, "network/v2.0/routers/"+d.router+"/add_extraroutes", route)
			}
		}
	}()
	stop := func() {
		if done != nil {
			close(done)
			<-ended
			done = nil
		}
	}
	t.Cleanup(func() {
		stop()
		d.call(http.MethodPut, "network/v2.0/routers/"+d.router+"/remove_extraroutes", route)
	})
	d.leave()
	d.remains("Route", begin+"1.0/24 via 10.0.0.5", "it came back after it was removed")
	d.reports("RoutesCameBack", "")
	d.landed("Leftovers", "Route "+begin+"1.0/24 via 10.0.0.5")
	stop()
}

// A Secret that points to another project or region, or does not specify the region, blocks Deorbit: in the wrong place, all
// objects appear to have been deleted.
func testSwappedSecret(t *testing.T, o *orbit) {
	anotherRegion(t, "RegionFar", "identity", "network", "compute", "block-storage", "volumev3", "load-balancer")
	d := o.register(t, "swapped", o.nowhere(t), func(d *craft) { d.k.Spec.Deorbit.UnseenVolumes = kubernikusv1.DeletionPolicyDelete })
	d.outfit()
	d.had = d.things()
	other := newProject(t)
	right := maps.Clone(d.secret.Data)
	swap := func(change func(data map[string][]byte)) {
		t.Helper()
		d.edit(d.secret, func() {
			d.secret.Data = maps.Clone(right)
			change(d.secret.Data)
		})
	}
	swap(func(data map[string][]byte) { maps.Copy(data, other.secret("", "", other.password).Data) })
	d.is(kubernikusv1.ConditionOpenStackReachable, "False/CloudChanged")
	d.leave()
	d.is(kubernikusv1.ConditionDeorbited, "False/CloudChanged")
	swap(func(data map[string][]byte) { delete(data, "openstack-region") })
	d.is(kubernikusv1.ConditionDeorbited, "False/CredentialsInvalid")
	swap(func(data map[string][]byte) { data["openstack-region"] = []byte("RegionFar") })
	d.is(kubernikusv1.ConditionDeorbited, "False/CloudChanged")
	d.unharmed(d)
	swap(func(map[string][]byte) {})
	d.landed("Deorbited")
}

// A volume that a dead CSI driver left at the server of a node is detached from it, as that driver would, and deleted. The
// server stays.
func testVolumeOfADeadDriver(t *testing.T, o *orbit) {
	d := o.launch(t, "detach", func(d *craft) { d.k.Spec.Deorbit.StageTimeout = during(3 * time.Second) })
	volume := d.claim("data", "cinder")
	claim := d.pending("data", "cinder")
	if err := d.inside.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	node := d.node("worker")
	d.make(&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-" + d.k.Name, Finalizers: []string{"external-attacher/cinder-csi-openstack-org"}},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: standin.Driver, NodeName: node,
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &claim.Spec.VolumeName}}})
	attachments := "compute/servers/" + o.nodeID + "/os-volume_attachments"
	d.must(http.MethodPost, attachments, wrap("volumeAttachment", "volumeId", volume))
	d.status("block-storage/volumes/"+volume, "status", "in-use")
	d.standin.SetDead(true)
	d.leave()
	d.landed("Deorbited")
	if left := d.call(http.MethodGet, attachments, nil).body["volumeAttachments"].([]any); len(left) != 0 {
		t.Errorf("the server still has %v", left)
	}
	d.status("compute/servers/"+o.nodeID, "status", "ACTIVE")
}
