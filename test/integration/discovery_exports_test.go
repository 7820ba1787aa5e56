// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

const serviceExports = "testdata/crds/multicluster.x-k8s.io_serviceexports.yaml"

// exported: with --service-policy=Exported only Services with a ServiceExport are copied. While their CustomResourceDefinition does
// not exist, and after it has been deleted with all ServiceExports, nothing is deleted.
func (d *clusters) exported(t *testing.T) {
	v := d.discover(t, false)
	v.create(v.b, v.service("web"), v.slice("web", "a", "10.1.0.1"), v.service("api"), v.slice("api", "a", "10.1.0.2"))
	everything := v.run()
	v.copied()
	v.leads(everything)
	everything.terminate()
	before := v.versions()

	c := v.run("--service-policy=Exported")
	v.lacksServiceExports()
	if err := diffError(before, v.versions()); err != nil {
		t.Error(err)
	}
	v.kubectlInBackend("apply", "--server-side", "-f", serviceExports)
	v.kubectlInBackend("wait", "--for=condition=Established", "-f", serviceExports, "--timeout=60s")
	v.create(v.b, v.export("web"))
	v.onlyCopies("web")
	v.status("Synced")
	v.create(v.b, v.export("api"))
	v.onlyCopies("api", "web")
	v.delete(v.b, v.export("web"))
	v.onlyCopies("api")

	copied := v.copyOfSlice("api")
	if copied.Labels["multicluster.kubernetes.io/service-name"] != v.name+"-api" || copied.Labels["multicluster.kubernetes.io/source-cluster"] != v.name {
		t.Errorf("labels of the EndpointSlice are %v", copied.Labels)
	}
	v.kubectlInBackend("delete", "-f", serviceExports)
	v.lacksServiceExports()
	finally(t, func(context.Context) error {
		if log := c.stderrText(); !strings.Contains(log, "Cannot confirm the deletion of ServiceExports") {
			return fmt.Errorf("no attempt to confirm the deletions has failed: %s", log)
		}
		return nil
	})
	editIn(v, v.b, v.slice("api", "a"), func(slice *discoveryv1.EndpointSlice) { slice.Endpoints[0].Addresses = []string{"10.1.0.3"} })
	finally(t, func(context.Context) error {
		if address := v.copyOfSlice("api").Endpoints[0].Addresses[0]; address != "10.1.0.3" {
			return fmt.Errorf("the copy has address %s", address)
		}
		return nil
	})
	if uid := v.copyOfSlice("api").UID; uid != copied.UID {
		t.Errorf("the EndpointSlice was created again: UID %s, before %s", uid, copied.UID)
	}
}

// lacksServiceExports waits until the status of the DiscoveryBackend reports that the CustomResourceDefinition of ServiceExports is missing.
func (v *discovered) lacksServiceExports() {
	v.t.Helper()
	message := v.status(gimbalv1.ErrorConnection, gimbalv1.ErrorConnection).Status.Errors[0].Message
	if !strings.Contains(message, "serviceexports.multicluster.x-k8s.io") || !strings.Contains(message, "cluster.servicePolicy") {
		v.t.Errorf("message = %q, want the definition that is missing, and the field", message)
	}
}

// onlyCopies waits until the copies are those of these Services, each with an EndpointSlice.
func (v *discovered) onlyCopies(services ...string) {
	v.t.Helper()
	finally(v.t, func(context.Context) error {
		found := v.versions()
		for _, service := range services {
			if _, ok := found[fmt.Sprintf("*v1.Service %s/%s-%s", v.ns, v.name, service)]; !ok {
				return fmt.Errorf("copies are %v, want those of %v", found, services)
			}
		}
		if len(found) != 2*len(services) {
			return fmt.Errorf("copies are %v, want those of %v", found, services)
		}
		return nil
	})
}

// copyOfSlice returns the only copied EndpointSlice of a Service.
func (v *discovered) copyOfSlice(service string) *discoveryv1.EndpointSlice {
	v.t.Helper()
	list := &discoveryv1.EndpointSliceList{}
	if err := v.c.List(v.t.Context(), list, client.InNamespace(v.ns), client.MatchingLabels{discoveryv1.LabelServiceName: v.name + "-" + service}); err != nil || len(list.Items) != 1 {
		v.t.Fatal(err, len(list.Items))
	}
	return &list.Items[0]
}

// export is a ServiceExport of a Service.
func (v *discovered) export(service string) *unstructured.Unstructured {
	export := &unstructured.Unstructured{}
	export.SetAPIVersion("multicluster.x-k8s.io/v1beta1")
	export.SetKind("ServiceExport")
	export.SetNamespace(v.ns)
	export.SetName(service)
	return export
}

func (v *discovered) kubectlInBackend(args ...string) {
	v.t.Helper()
	command := exec.CommandContext(v.t.Context(), v.backend.Kubectl(), append([]string{"--kubeconfig", v.backend.AdminKubeconfig()}, args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		v.t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
}
