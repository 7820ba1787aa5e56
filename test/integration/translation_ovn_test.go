// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllerstate"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
	"groundskeeper.io/groundskeeper/test/ovnserver"
	"groundskeeper.io/groundskeeper/test/plane"
)

// TestTranslationsOnOVN translates objects to a real Northbound database, where drift is reverted long before the comparison that is
// due every ten minutes. make test-ovn runs it.
func TestTranslationsOnOVN(t *testing.T) {
	t.Parallel()
	server := ovnserver.Start(t, ovnserver.Options{Northd: true})
	n := newOVNNetwork(t, server)
	ns := n.namespace("ovn")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}, Spec: corev1.NodeSpec{PodCIDR: "10.1.0.0/24", PodCIDRs: []string{"10.1.0.0/24"}}}
	n.create(node)
	editStatus(n, node, func(node *corev1.Node) {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
	})
	pod := n.pod(ns, "web-0", "node-a", "10.1.0.10")
	service := n.service(ns, "web", tcp("http", 80))
	slice := n.slice(service, "web-a", "10.1.0.10")

	balancer := ns + "/web/tcp"
	vips := func() string {
		return server.Nbctl(t, "--bare", "--columns=vips", "find", "Load_Balancer", "name="+balancer)
	}
	address := service.Spec.ClusterIP + ":80=10.1.0.10:80"
	eventually(t, func(ctx context.Context) error {
		translations, err := n.translations(ctx)
		if err != nil {
			return err
		}
		for i := range translations {
			if err := notSynced(&translations[i]); err != nil {
				return err
			}
		}
		// Five of the cluster, those of at least five namespaces, the Node, its address, the Pod, the Service, and that of Service kubernetes.
		if len(translations) < 15 {
			return fmt.Errorf("%d translations", len(translations))
		}
		// The Service may have been translated and written before its endpoint came.
		if got := vips(); got != address {
			return fmt.Errorf("vips = %q, want %q", got, address)
		}
		return nil
	})
	if show := server.Nbctl(t, "show"); !strings.Contains(show, ns+"_web-0") || !strings.Contains(show, "k8s-node-a") {
		t.Errorf("the database has %q, want the ports of the Pod and the Node", show)
	}
	if leader := server.Nbctl(t, "get", "NB_Global", ".", "external_ids:groundskeeper-leader-cluster"); !strings.Contains(leader, "groundskeeper-system/groundskeeper-controller-manager 0 ") {
		t.Errorf("the recorded leader is %s, want the first one of the Lease", leader)
	}

	for _, change := range [][]string{{"lsp-set-addresses", ns + "_web-0", "unknown"}, {"lsp-del", ns + "_web-0"}, {"lb-del", balancer}} {
		server.Nbctl(t, change...)
		eventually(t, func(context.Context) error {
			addresses := server.Nbctl(t, "--bare", "--columns=addresses", "find", "Logical_Switch_Port", "name="+ns+"_web-0")
			if got := vips(); got != address || addresses != "0a:58:0a:01:00:0a 10.1.0.10" {
				return fmt.Errorf("after %v: addresses %q, vips %q", change, addresses, got)
			}
			return nil
		})
	}

	// Without chassis, everything is confirmed that needs none.
	for name, want := range map[string]string{"pod.4.web-0": "NotConnected", "service.4.web": "Realized"} {
		eventually(t, func(ctx context.Context) error {
			translation := &midonetv1.Translation{}
			if err := n.c.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, translation); err != nil {
				return err
			}
			if c := meta.FindStatusCondition(translation.Status.Conditions, midonetv1.ConditionRealized); c == nil || c.Reason != want {
				return fmt.Errorf("condition of %s = %v, want the reason %s", name, c, want)
			}
			return nil
		})
	}

	// A policy isolates the Pod and allows its own namespace; a recreated one takes over what there is of it.
	policy := func() *networkingv1.NetworkPolicy {
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "np"}}
		policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}}
		return policy
	}
	expectGroups := func(when string, want int) {
		t.Helper()
		eventually(t, func(context.Context) error {
			port := server.Nbctl(t, "--bare", "--columns=_uuid", "find", "Logical_Switch_Port", "name="+ns+"_web-0")
			groups := strings.Fields(server.Nbctl(t, "--bare", "--columns=_uuid", "find", "Port_Group", "ports{>=}"+port))
			if len(groups) != want {
				return fmt.Errorf("%s the port is in %d groups, want %d", when, len(groups), want)
			}
			return nil
		})
	}
	expectGroups("without a policy", 2)
	first := policy()
	n.create(first)
	expectGroups("with a policy", 4)
	n.delete(first)
	second := policy()
	n.create(second)
	expectGroups("with another policy", 4)
	for object, want := range map[string]string{
		"pod/web-0": "10.1.0.10  Pod " + ns + "/web-0, port " + ns + "_web-0 of switch node-a, chassis node-a, not Realized\n" +
			"  connections to it are dropped unless allowed by NetworkPolicy np\n",
		"service/web": "    connections to it are dropped unless allowed by NetworkPolicy np\n",
		"node/node-a": "10.1.0.2  Node node-a, port k8s-node-a of switch node-a, chassis node-a, not Realized\n",
	} {
		if out, _ := n.why(object, ns); !strings.Contains(out, want) {
			t.Errorf("why %s prints\n%s\nwant %q in it", object, out, want)
		}
	}
	n.delete(second)
	expectGroups("after its deletion", 2)

	testUnusedClusterIP(t, n, server, service)

	slice.Endpoints = nil
	if err := n.c.Update(t.Context(), slice); err != nil {
		t.Fatal(err)
	}
	n.delete(pod, node)
	eventually(t, func(context.Context) error {
		show := server.Nbctl(t, "show")
		if got := vips(); got != service.Spec.ClusterIP+":80=" || strings.Contains(show, "node-a") || strings.Contains(show, "web-0") {
			return fmt.Errorf("vips %q, and the database has %q", got, show)
		}
		return nil
	})
	n.delete(service)
	eventually(t, func(context.Context) error {
		if got := server.Nbctl(t, "--bare", "--columns=name", "find", "Load_Balancer", "name="+balancer); got != "" {
			return fmt.Errorf("the load balancer exists")
		}
		return nil
	})
	testOrphanIsFound(t, n, server)
}

// newOVNNetwork starts a control plane whose controller manager writes the tenant "cluster" of a Northbound database.
func newOVNNetwork(t *testing.T, server *ovnserver.Server) *network {
	t.Helper()
	return newNetwork(t, func(o *plane.Options) {
		o.MidoNet, o.ManagerConfig = false, filepath.Join(t.TempDir(), "manager.yaml")
		config := fmt.Sprintf(`
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
log: {level: debug}
leaderElection: {leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 500ms}
controllers:
  translation:
    tenant: cluster
    backend: ovn
    ovn: {endpoints: ['%s']}
`, server.Endpoint())
		if err := os.WriteFile(o.ManagerConfig, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	})
}

// TestTwoManagersOnOVN checks that the controller manager of a second cluster writes nothing of a tenant that the first one writes, and that its
// Translations name the object that proves the first.
func TestTwoManagersOnOVN(t *testing.T) {
	t.Parallel()
	server := ovnserver.Start(t, ovnserver.Options{Northd: true})
	first := newOVNNetwork(t, server)
	balancer := func(service *corev1.Service) string {
		return server.Nbctl(t, "--bare", "--columns=name", "find", "Load_Balancer", "name="+service.Namespace+"/"+service.Name+"/tcp")
	}
	write := func(name string) {
		t.Helper()
		service := first.service(first.namespace("ovn"), name, tcp("http", 80))
		eventually(t, func(context.Context) error {
			if balancer(service) == "" {
				return fmt.Errorf("the first manager has not written Service %s", name)
			}
			return nil
		})
	}
	write("before")
	system := &corev1.Namespace{}
	if err := first.c.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		t.Fatal(err)
	}

	second := newOVNNetwork(t, server)
	foreign := second.service(second.namespace("ovn"), "foreign", tcp("http", 80))
	named := func(namespace, name string) *midonetv1.Translation {
		return &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	// The load balancers of Services need their groups, which are of the cluster.
	group, service := named(metav1.NamespaceSystem, "ovn-global.4.load-balancers"), named(foreign.Namespace, "service.4.foreign")
	for translation, why := range map[*midonetv1.Translation]string{
		group: "the cluster whose namespace kube-system has the uid " + string(system.UID), service: "it waits for LoadBalancerGroup",
	} {
		eventually(t, func(ctx context.Context) error {
			if err := second.c.Get(ctx, client.ObjectKeyFromObject(translation), translation); err != nil {
				return err
			}
			c := meta.FindStatusCondition(translation.Status.Conditions, midonetv1.ConditionSynced)
			if c == nil || c.Status == metav1.ConditionTrue || !strings.Contains(c.Message, why) {
				return fmt.Errorf("condition of %s = %+v, want %q in it", translation.Name, c, why)
			}
			return nil
		})
	}
	write("after") // the first one continues
	for _, translation := range []*midonetv1.Translation{group, service} {
		if err := second.c.Get(t.Context(), client.ObjectKeyFromObject(translation), translation); err != nil || notSynced(translation) == nil {
			t.Errorf("translation of the second cluster = %+v, %v, want one that is not synced", translation.Status, err)
		}
	}
	if got := balancer(foreign); got != "" {
		t.Errorf("load balancer = %q, want none of the second cluster", got)
	}
	recorded := server.Nbctl(t, "get", "NB_Global", ".", "external_ids:groundskeeper-cluster-cluster")
	if !strings.Contains(recorded, string(system.UID)) {
		t.Errorf("recorded cluster = %s, want %s", recorded, system.UID)
	}
}

// testOrphanIsFound checks that the manager reports a load balancer of an older backup, until it is deleted.
func testOrphanIsFound(t *testing.T, n *network, server *ovnserver.Server) {
	t.Helper()
	id := uuid.NewSHA1(uuid.Nil, []byte("before")).String()
	groups := strings.Fields(server.Nbctl(t, "--bare", "--columns=_uuid", "list", "Load_Balancer_Group"))
	server.Nbctl(t, "--id="+id, "create", "Load_Balancer", "name=before", "external_ids:groundskeeper-tenant=cluster",
		"--", "add", "Load_Balancer_Group", groups[0], "load_balancer", id)
	found := func(want string) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			lease := &coordinationv1.Lease{}
			if err := n.c.Get(ctx, client.ObjectKey{Namespace: uninstall.SystemNamespace, Name: uninstall.ManagerName}, lease); err != nil {
				return err
			}
			states, err := controllerstate.Of(lease.Annotations)
			if got := strings.Join(states["translation-push"].Findings, "; "); err != nil || !strings.Contains(got, want) || want == "" && got != "" {
				return fmt.Errorf("findings = %q, %w; want %q", got, err, want)
			}
			return nil
		})
	}
	found("1 resources of the tenant in the network backend are in no Translation, for instance LoadBalancer " + id)
	server.Nbctl(t, "destroy", "Load_Balancer", id)
	found("")
}

// why runs "kubectl groundskeeper why", which fails if there are findings.
func (n *network) why(object, namespace string) (string, error) {
	command := exec.CommandContext(n.t.Context(), n.Kubectl(), "groundskeeper", "--kubeconfig", n.AdminKubeconfig(), "why", object, "--namespace", namespace)
	command.Env = append(os.Environ(), "PATH="+filepath.Dir(n.Kubectl())+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	return string(out), err
}

// testUnusedClusterIP checks that an external address in the range of cluster IPs is not served, also if no Service has it.
func testUnusedClusterIP(t *testing.T, n *network, server *ovnserver.Server, service *corev1.Service) {
	t.Helper()
	unused := netip.MustParseAddr(service.Spec.ClusterIP)
	for services := (&corev1.ServiceList{}); ; unused = unused.Next() {
		if err := n.c.List(t.Context(), services); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(services.Items, func(s corev1.Service) bool { return s.Spec.ClusterIP == unused.String() }) {
			break
		}
	}
	outside := n.service(service.Namespace, "outside", tcp("http", 80))
	outside.Spec.ExternalIPs = []string{unused.String(), "203.0.113.9"}
	if err := n.c.Update(t.Context(), outside); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		vips := server.Nbctl(t, "--bare", "--columns=vips", "find", "Load_Balancer", "name="+service.Namespace+"/outside/tcp")
		if !strings.Contains(vips, "203.0.113.9:80=") || strings.Contains(vips, unused.String()+":") {
			return fmt.Errorf("vips = %q, want 203.0.113.9 and not %s", vips, unused)
		}
		found := &eventsv1.EventList{}
		if err := n.c.List(ctx, found, client.InNamespace(service.Namespace)); err != nil {
			return err
		}
		if !slices.ContainsFunc(found.Items, func(e eventsv1.Event) bool {
			return e.Reason == "ExternalAddressTaken" && strings.Contains(e.Note, unused.String()) && strings.Contains(e.Note, "the range of cluster IPs")
		}) {
			return fmt.Errorf("no event names %s", unused)
		}
		return nil
	})
	n.delete(outside)
}
