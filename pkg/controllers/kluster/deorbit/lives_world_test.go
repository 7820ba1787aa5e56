// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// killer kills the process at some of its writes: before they arrive, or before the process has the response.
type killer struct {
	mu     sync.Mutex
	random *rand.Rand
	kills  int
	dead   bool
}

var errKilled = errors.New("the process was killed")

// strike reports whether the process dies at a write, and whether the write arrives nevertheless.
func (k *killer) strike() (dies, arrives bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return true, false
	}
	if k.kills == 0 || k.random.IntN(12) > 0 {
		return false, true
	}
	k.kills--
	k.dead = true
	return true, k.random.IntN(2) == 0
}

func (k *killer) isDead() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dead
}

func (k *killer) revive() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dead = false
}

// fence is that of the process.
func (k *killer) fence() error {
	if k.isDead() {
		return errKilled
	}
	return nil
}

// handler passes requests of a process that lives to a system.
func (k *killer) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dies, arrives := k.isDead(), !k.isDead()
		if r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/auth/tokens") {
			dies, arrives = k.strike()
		}
		response := httptest.NewRecorder()
		if arrives {
			next.ServeHTTP(response, r)
		}
		if dies {
			panic(http.ErrAbortHandler)
		}
		for name, values := range response.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(response.Code)
		_, _ = w.Write(response.Body.Bytes())
	})
}

// livesProject is the OpenStack project of a life.
const livesProject = "garden"

// life is a cluster that was deleted, with all that is around it.
type life struct {
	*flow
	*killer
	cloud   *fake.Server
	cluster *server
	network string
	// project is the OpenStack project of the cluster.
	project string
	kluster *kubernikusv1.Kluster
	draw    *rand.Rand
	// name and tag are what the cluster's controllers call it.
	name, tag string
	// ccm and csi report whether these controllers of the cluster run.
	ccm, csi bool
	// made is what the cluster made in the cloud, by its id. kept are those that a field or an annotation keeps, and guarded those that
	// must not be deleted.
	made          map[string]string
	kept, guarded map[string]bool
	// parts are the objects of a Service in the cloud.
	parts map[string]balanced
}

// balanced is what a cloud controller made for a Service.
type balanced struct{ balancer, address, group, port string }

func newLife(t *testing.T, seed uint64) *life {
	t.Helper()
	l := &life{
		killer: &killer{random: rand.New(rand.NewPCG(seed, 1)), kills: 6}, draw: rand.New(rand.NewPCG(seed, 2)),
		project: livesProject, name: "prod-cluster", tag: "prod-tag",
		ccm: true, csi: true, made: map[string]string{}, kept: map[string]bool{}, guarded: map[string]bool{},
		parts: map[string]balanced{},
	}
	l.cloud = fake.New(fake.Options{Delay: -1, Wrap: l.handler, PageSize: 3})
	t.Cleanup(l.cloud.Close)
	l.cluster = newAPIServer(t, l.handler)
	l.cloud.AddUser("gardener", "password", livesProject)
	l.network = l.cloud.AddNetwork("10.0.0.0/24")
	l.cloud.AddRouter(livesProject, l.network)
	l.kluster = deleted("prod", func(k *kubernikusv1.Kluster) {
		k.Finalizers = append(k.Finalizers, "test/reads-the-outcome")
		k.Spec.CloudProvider = kubernikusv1.CloudProvider{ClusterName: &l.name, CSIClusterID: &l.tag}
		k.Spec.CustomCNI = true
	})
	return l
}

// begin starts the controller.
func (l *life) begin(t *testing.T, kubeconfig bool, others ...*kubernikusv1.Kluster) {
	t.Helper()
	more := map[string][]byte{}
	if kubeconfig {
		more["kubeconfig"] = l.cluster.kubeconfig(t)
	}
	secret := klustertest.Secret("prod-secret", l.cloud.AuthURL(), "gardener", "password", livesProject, more)
	l.flow = newFlow(t, l.kluster, secret)
	for _, other := range others {
		l.store.Add(other)
	}
	l.store.Lost = l.draw.IntN(2) == 0
	l.store.Fault = func(int, kubetest.Write) error {
		if dies, _ := l.strike(); dies {
			return errKilled
		}
		return nil
	}
	l.restart(t)
}

// restart is a new process on the same systems.
func (l *life) restart(t *testing.T) {
	t.Helper()
	l.revive()
	l.flow.restart()
	clients, err := openstack.NewClients(openstack.Options{AllowPlainHTTP: true, QPS: 1e6, Burst: 1e6,
		MinBackoff: time.Nanosecond, MaxBackoff: time.Second, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	fence := l.fence
	l.r.fence = fence
	actual := realSystems(l.r.client, l.r.live, clients, configv1alpha1.RouteGCConfiguration{Enabled: new(true), DryRun: new(false),
		MaxRemovalFraction: new(0.5),
		Interval:           &metav1.Duration{Duration: time.Minute}, ConfirmAfter: &metav1.Duration{Duration: time.Minute}}, fence)
	l.r.systems = systems{
		withdraw: func(context.Context, *kubernikusv1.Kluster) (stage.Report, error) { return stage.Report{}, nil },
		connect:  func(config *rest.Config) (workload, error) { return connect(config) },
		open:     actual.open,
	}
}

// reconnecting is a workload cluster that is connected anew every few checks, so that its rate limit is never met.
type reconnecting struct {
	*cluster.Connection
	config *rest.Config
	checks int
}

func connect(config *rest.Config) (*reconnecting, error) {
	c, err := cluster.Connect(config)
	return &reconnecting{Connection: c, config: config}, err
}

// Run implements workload.
func (r *reconnecting) Run(ctx context.Context, which kubernikusv1.DeorbitStage, w stage.Work) (stage.Report, error) {
	if r.checks++; r.checks%6 == 0 {
		r.Close()
		again, err := cluster.Connect(r.config)
		if err != nil {
			return stage.Report{}, err
		}
		r.Connection = again
	}
	return r.Connection.Run(ctx, which, w)
}

// tagged is the metadata with which the CSI driver of a cluster marks what it makes.
func tagged(tag string) map[string]string {
	return map[string]string{"cinder.csi.openstack.org/cluster": tag}
}

// claim adds a volume that a claim has, and returns its id.
func (l *life) claim(name, policy string, finalizers ...any) string {
	id := l.cloud.AddVolume(l.project, fake.Volume{Name: "pv-" + name, Metadata: tagged(l.tag)})
	l.made[id] = "Volume"
	l.volume(name, policy, cinder, id)
	l.cluster.put(claimsPath, "shop", name, item{"spec": item{"volumeName": "pv-" + name}},
		append(finalizers, "kubernetes.io/pvc-protection")...)
	return id
}

const cinder, manila = "cinder.csi.openstack.org", "nfs.manila.csi.openstack.org"

func (l *life) volume(name, policy, driver, id string) {
	l.cluster.put(volumesPath, "", "pv-"+name, item{
		"spec": item{"persistentVolumeReclaimPolicy": policy,
			"csi":      item{"driver": driver, "volumeHandle": id, "volumeAttributes": item{"shareID": id}},
			"claimRef": item{"namespace": "shop", "name": name, "uid": "uid-" + name}},
		"status": item{"phase": "Bound"},
	}, "kubernetes.io/pv-protection")
	if policy == "Retain" {
		l.kept[id] = true
	}
}

// share adds a share of Manila that a claim has, and returns its id.
func (l *life) share(name, policy string) string {
	id := l.cloud.AddShare(l.project, fake.Share{Name: "pv-" + name, Rules: []string{"10.0.0.0/24"}})
	l.made[id] = "Share"
	l.volume(name, policy, manila, id)
	l.cluster.put(claimsPath, "shop", name, item{"spec": item{"volumeName": "pv-" + name}}, "kubernetes.io/pvc-protection")
	return id
}

// shareSnapshot adds a snapshot that the cluster made of a share.
func (l *life) shareSnapshot(name, policy, share string) {
	id := l.cloud.AddShareSnapshot(l.project, fake.ShareSnapshot{ShareID: share})
	l.made[id] = "ShareSnapshot"
	l.content(name, policy, manila, id, share)
}

// snapshot adds a snapshot that the cluster made of a volume, and returns its id.
func (l *life) snapshot(name, policy, volume string) string {
	id := l.cloud.AddSnapshot(l.project, fake.Snapshot{VolumeID: volume, Metadata: tagged(l.tag)})
	l.made[id] = "Snapshot"
	l.content(name, policy, cinder, id, volume)
	return id
}

// content adds a VolumeSnapshot with its content.
func (l *life) content(name, policy, driver, id, volume string) {
	l.cluster.put(shotsPath, "shop", name, item{
		"spec": item{"source": item{}}, "status": item{"boundVolumeSnapshotContentName": "content-" + name}},
		"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection")
	l.cluster.put(contentsPath, "", "content-"+name, item{
		"spec": item{"driver": driver, "deletionPolicy": policy, "source": item{"volumeHandle": volume},
			"volumeSnapshotRef": item{"namespace": "shop", "name": name, "uid": "uid-" + name}},
		"status": item{"snapshotHandle": id},
	}, "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection")
	if policy == "Retain" {
		l.kept[id], l.kept[volume] = true, true // nothing that has a snapshot is deleted
	}
}

// service adds a Service with its load balancer, whose status is of some form.
func (l *life) service(name, form string, keepAddress bool) {
	cluster, uid, n := l.name, "uid-"+name, len(l.parts)
	service := "kube_service_" + cluster + "_shop_" + name
	vip, public := "10.0.0."+string(rune('1'+n))+"0", "1.2.3."+string(rune('1'+n))
	made := balanced{
		balancer: l.cloud.AddLoadBalancer(l.project, fake.LoadBalancer{Name: service, VIP: vip, Tags: []string{service}, Provider: []string{"amphora", "ovn"}[n%2],
			Description: "Kubernetes external service shop/" + name + " from cluster " + cluster}),
		group: l.cloud.AddSecurityGroup(l.project, fake.SecurityGroup{Name: "lb-sg-" + uid + "-shop-" + name,
			Description: "Security Group for shop/" + name + " Service LoadBalancer in cluster " + cluster}),
	}
	listener := l.cloud.AddListener(made.balancer,
		fake.Listener{Name: "listener_0_" + service, Protocol: "TCP", Port: 80, Tags: []string{service}})
	l.cloud.AddPool(made.balancer, fake.Pool{Name: "pool_0_" + service, Protocol: "TCP"}, listener)
	for _, b := range l.cloud.LoadBalancers(l.project) {
		if b.ID == made.balancer {
			made.address = l.cloud.AddFloatingIPFor(l.project, fake.FloatingIP{Address: public, PortID: b.VIPPortID,
				Description: "Floating IP for Kubernetes external service shop/" + name + " from cluster " + cluster})
		}
	}
	annotations := item{"loadbalancer.openstack.org/load-balancer-id": made.balancer}
	ingress := item{"ip": public}
	switch form {
	case "no id":
		delete(annotations, "loadbalancer.openstack.org/load-balancer-id")
	case "hostname":
		ingress = item{"hostname": "web.example.com"}
	case "hostname and address":
		ingress, annotations["loadbalancer.openstack.org/load-balancer-address"] = item{"hostname": "web.example.com"}, public
	case "nip.io":
		ingress = item{"hostname": public + ".nip.io"}
	}
	if keepAddress {
		annotations["loadbalancer.openstack.org/keep-floatingip"] = "true"
		l.kept[made.address] = true
	}
	l.cluster.put(servicesPath, "shop", name, item{"spec": item{"type": "LoadBalancer"},
		"status": item{"loadBalancer": item{"ingress": []any{ingress}}}},
		"service.kubernetes.io/load-balancer-cleanup")
	l.cluster.items[servicesPath+"/shop/"+name]["metadata"].(item)["annotations"] = annotations
	l.made[made.balancer], l.made[made.address], l.made[made.group] = "LoadBalancer", "FloatingIP", "SecurityGroup"
	l.parts[name] = made
}

// controllers is what the controllers of the cluster do, if they run.
func (l *life) controllers() {
	l.cluster.each(claimsPath, func(claim item) {
		if textOf(claim, "metadata", "deletionTimestamp") != "" {
			l.cluster.release(claimsPath, claim, "kubernetes.io/pvc-protection")
		}
	})
	l.cluster.each(volumesPath, func(v item) {
		claim := l.cluster.items[claimsPath+"/shop/"+textOf(v, "spec", "claimRef", "name")]
		if textOf(v, "spec", "claimRef", "uid") == "" || claim != nil {
			return
		}
		v["status"] = item{"phase": "Released"}
		l.cluster.touch(v)
		id := textOf(v, "spec", "csi", "volumeHandle")
		if textOf(v, "spec", "persistentVolumeReclaimPolicy") == "Retain" || !l.csi || l.hasSnapshot(id) {
			return
		}
		l.cloud.RemoveVolume(id)
		l.cloud.RemoveShare(id)
		l.cluster.release(volumesPath, v, "kubernetes.io/")
		l.cluster.delete(volumesPath, v)
	})
	l.cluster.each(shotsPath, func(s item) {
		if textOf(s, "metadata", "deletionTimestamp") == "" || !l.csi {
			return
		}
		content := l.cluster.items[contentsPath+"//"+textOf(s, "status", "boundVolumeSnapshotContentName")]
		if textOf(content, "spec", "deletionPolicy") == "Delete" {
			l.cloud.RemoveSnapshot(textOf(content, "status", "snapshotHandle"))
			l.cloud.RemoveShareSnapshot(textOf(content, "status", "snapshotHandle"))
			l.cluster.delete(contentsPath, content)
			l.cluster.release(contentsPath, content, "snapshot.storage.kubernetes.io/")
		}
		l.cluster.release(shotsPath, s, "snapshot.storage.kubernetes.io/")
	})
	l.cluster.each(servicesPath, func(s item) {
		if textOf(s, "metadata", "deletionTimestamp") == "" || !l.ccm {
			return
		}
		made := l.parts[textOf(s, "metadata", "name")]
		annotations, _ := s["metadata"].(item)["annotations"].(item)
		if annotations["loadbalancer.openstack.org/keep-floatingip"] != "true" {
			l.cloud.RemoveFloatingIP(made.address)
		}
		l.cloud.RemoveLoadBalancer(made.balancer)
		if made.port != "" {
			l.cloud.SetSecurityGroups(made.port)
		}
		l.cloud.RemoveSecurityGroup(made.group)
		l.cluster.release(servicesPath, s, "service.kubernetes.io/")
	})
}

func (l *life) hasSnapshot(volume string) bool {
	return slices.ContainsFunc(l.cloud.ShareSnapshots(l.project), func(s fake.ShareSnapshot) bool { return s.ShareID == volume }) ||
		slices.ContainsFunc(l.cloud.Snapshots(l.project), func(s fake.Snapshot) bool { return s.VolumeID == volume })
}

// there returns what is in the project.
func (l *life) there() map[string]bool {
	found := map[string]bool{}
	for _, id := range l.cloud.Shares(l.project) {
		found[id] = true
	}
	for _, s := range l.cloud.ShareSnapshots(l.project) {
		found[s.ID] = true
	}
	for _, b := range l.cloud.LoadBalancers(l.project) {
		found[b.ID] = true
	}
	for _, f := range l.cloud.FloatingIPs(l.project) {
		found[f.ID] = true
	}
	for _, g := range l.cloud.SecurityGroups(l.project) {
		found[g.ID] = true
	}
	for _, v := range l.cloud.Volumes(l.project) {
		found[v.ID] = true
	}
	for _, s := range l.cloud.Snapshots(l.project) {
		found[s.ID] = true
	}
	return found
}
