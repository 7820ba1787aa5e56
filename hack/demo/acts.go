// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// acts returns the story. Each command is one that a user could type, in the directory of the repository, with the environment that is
// printed at the start, in which the namespace of the Project is the default. What follows a command has to be in its output.
func (s *stage) acts() []act {
	acts := []act{s.project(), s.kluster(), s.backends(), s.lostNode(), s.maintenance(), s.deorbit(), s.forgotten()}
	if s.ovn != nil {
		acts = append(acts, s.packets())
	}
	return acts
}

// project: act 1.
func (s *stage) project() act {
	return act{
		title: "a team gets a Project",
		tell:  "A Project is a namespace with members, a quota and an end. Its members see it, and nobody else does.",
		page:  "search for shop, and open the Project",
		steps: []step{
			run("kubectl create -f hack/demo/manifests/project.yaml", `project.core.gardener.cloud/shop created`),
			run("kubectl wait project/shop --for=condition=Ready --timeout=60s", `condition met`),
			run("kubectl get projects", `shop +True +garden-shop +Ready +olivia@example.com`),
			await("it has a quota",
				"kubectl get rolebindings,resourcequotas",
				`rolebinding\S+project-member`, `resourcequota/gardener .*klusters`),
			look("the namespace garden-shop has the roles of its members, and a quota of three Klusters."),
			await("the roles of members are aggregated", "kubectl get projects --as mara@example.com", `shop`),
			run("kubectl get projects --as eve@example.com", `No resources found`),
			look("Mara is a member, Eve is not. Both have no permission but that of being logged in."),
			rejected("kubectl delete project shop", `confirmation.gardener.cloud/deletion`),
			look("nobody deletes a Project by accident."),
			picture("/object/project//shop", "mara@example.com"),
		},
	}
}

// kluster: act 2.
func (s *stage) kluster() act {
	return act{
		title: "a cluster of Cluster API becomes a Kluster",
		tell: "A cluster runs on OpenStack, and Cluster API manages it. One label is all that Groundskeeper needs\n" +
			"to watch its routes, and later to delete what it leaves in the cloud. One field announces it as a backend.",
		page: "search for web, and open the Kluster",
		steps: []step{
			behind("Cluster API has created the cluster web: this program plays its controllers, and a fake of OpenStack the cloud", s.cluster),
			run("kubectl get clusters,machines", `cluster.cluster.x-k8s.io/web`, `machine.cluster.x-k8s.io/web-worker`),
			run("kubectl get --raw /_fake/ --server $OPENSTACK", `router +demo`, `server +demo +node-10.0.0.5`),
			look("this is all that the project has in OpenStack."),
			run("kubectl label cluster web groundskeeper.io/deorbit=true", `cluster.cluster.x-k8s.io/web labeled`),
			run("kubectl wait kluster/web --for=create --timeout=60s", `condition met`),
			run("kubectl wait kluster/web --for=condition=Ready --timeout=60s", `condition met`),
			await("its routes are checked", "kubectl get klusters", `web +True .*Running +True +True`),
			run(`kubectl patch kluster web --type merge -p '{"spec":{"discovery":{"enabled":true}}}'`, `patched`),
			run("kubectl wait kluster/web --for=condition=Announced --timeout=60s", `condition met`),
			await("it is reported that no discoverer runs yet",
				"kubectl get dbe -n gimbal-discovery",
				`web +Unknown +kubernetes +Enabled +False +False +0`),
			look("the cluster is a backend: its Services can be copied."),
			picture("/object/kluster/garden-shop/web", "Announced"),
		},
	}
}

// backends: act 3.
func (s *stage) backends() act {
	return act{
		title: "Services are copied, and a route leads to two clusters",
		tell: "A second cluster, eu, is added by its kubeconfig. A Service of the same name runs in both, and one route\n" +
			"sends half of the requests to each.",
		page: "Backends",
		steps: []step{
			behind("an administrator of eu hands over a kubeconfig", func(context.Context) error {
				return kubeconfig(s.eu, s.path("eu.kubeconfig"), "gimbal", "discoverer")
			}),
			run("kubectl create secret generic eu -n gimbal-discovery --from-file=config=$DEMO/eu.kubeconfig", `secret/eu created`),
			run("kubectl create -f hack/demo/manifests/backend.yaml", `discoverybackend.gimbal.heptio.com/eu created`),
			await("each backend has the Deployment of its discoverer",
				"kubectl get deployments -n gimbal-discovery",
				`web-discoverer`, `eu-discoverer`),
			behind("there is no node: this program runs the discoverers as processes", func(ctx context.Context) error {
				for _, backend := range []string{"web", "eu"} {
					if err := s.discover(ctx, backend); err != nil {
						return err
					}
				}
				return nil
			}),
			run("kubectl --context web create -f hack/demo/manifests/page.yaml", `service/page created`),
			run("kubectl --context eu create -f hack/demo/manifests/page.yaml", `service/page created`),
			await("both Services are copied",
				"kubectl get services -L gimbal.projectcontour.io/backend",
				`web-page .* web\n`, `eu-page .* eu\n`),
			await("the backends are Ready",
				"kubectl get dbe -n gimbal-discovery",
				`web +True +kubernetes +Enabled +True +True +1 `, `eu +True +kubernetes +Enabled +True +True +1 `),
			run("kubectl create -f hack/demo/manifests/route.yaml", `httpproxy.projectcontour.io/page created`, `checkout created`),
			run(`kubectl get httpproxy page -o jsonpath='{.spec.routes[0].services}{"\n"}'`,
				`"eu-page","port":80,"weight":50`, `"web-page","port":80,"weight":50`),
			look("half of the requests for page.example.com go to each cluster."),
			picture("/backends", "HTTPProxy garden-shop/page"),
		},
	}
}

// lostNode: act 4.
func (s *stage) lostNode() act {
	return act{
		title: "a node dies",
		tell: "A pod with a local volume can never start again when its node is gone: its claim is bound to a disk that\n" +
			"no other node has. Groundskeeper deletes the claim and the volume after a delay, and the StatefulSet gets\n" +
			"another disk. A node that comes back in time loses nothing.",
		page: "search for web, condition LocalVolumeCleanup",
		steps: []step{
			run("kubectl patch kluster web --type merge --patch-file hack/demo/manifests/local-volumes.yaml", `patched`),
			run("kubectl wait kluster/web --for=condition=LocalVolumeCleanup --timeout=60s", `condition met`),
			run("kubectl --context web create -f hack/demo/manifests/nodes.yaml -f hack/demo/manifests/node-b.yaml",
				`statefulset.apps/db created`, `node/node-b created`),
			await("the claims are bound", "kubectl --context web get pvc", `data-db-0 +Bound +disk-a`, `data-db-1 +Bound +disk-b`),
			run("kubectl delete --raw /_fake/projects/demo/servers/10.0.0.5 --server $OPENSTACK"),
			run("kubectl --context web delete node node-a", `node "node-a" deleted`),
			await("the countdown is announced",
				"kubectl --context web get events --field-selector involvedObject.name=data-db-0",
				`ReferencedNodeDeleted +persistentvolumeclaim/data-db-0`),
			behind("there is no scheduler: when the claim is gone, this program reports that its pod cannot start", s.reschedule),
			await("the claim has the disk of another node",
				"kubectl --context web get pvc",
				`data-db-0 +Bound +disk-c`, `data-db-1 +Bound +disk-b`),
			await("the volume is gone", "kubectl --context web get pv", `disk-c +.* Bound `, `!disk-a`),
			await("the route to the server is gone",
				"kubectl get --raw /_fake/ --server $OPENSTACK",
				`route .* via 10.0.0.6`, `!route .* via 10.0.0.5`),
			look("claim, volume and route of the lost node are gone, and all others are as they were."),
			picture("/object/kluster/garden-shop/web", "LocalVolumeCleanup"),
			run(`kubectl patch kluster web --type merge -p '{"spec":{"localVolumeCleanup":{"pvcDeletionDelay":"1h"}}}'`, `patched`),
			run("kubectl wait kluster/web --for=condition=LocalVolumeCleanup --timeout=60s", `condition met`),
			run("kubectl --context web delete node node-b", `node "node-b" deleted`),
			await("the next countdown is announced",
				"kubectl --context web get events --field-selector involvedObject.name=data-db-1",
				`ReferencedNodeDeleted +persistentvolumeclaim/data-db-1`),
			run("kubectl --context web create -f hack/demo/manifests/node-b.yaml", `node/node-b created`),
			await("the countdown is cancelled",
				"kubectl --context web get events --field-selector involvedObject.name=data-db-1",
				`LocalVolumeCleanupCancelled +persistentvolumeclaim/data-db-1`),
			run("kubectl --context web get pvc", `data-db-1 +Bound +disk-b`),
			look("the second node came back within the hour, and nothing has changed."),
		},
	}
}

// maintenance: act 5.
func (s *stage) maintenance() act {
	const drain = `kubectl patch dbe web -n gimbal-discovery --type merge -p '{"cluster":{"clusterStatus":"Maintenance"}}'`
	return act{
		title: "a cluster is taken out of service",
		tell:  "In maintenance, no route sends requests to a backend. Afterwards, each route is what it was, byte for byte.",
		page:  "Backends: what a drain would do, and its progress",
		steps: []step{
			run(`kubectl get httpproxy page -o jsonpath='{.spec}{"\n"}' | tee $DEMO/before.json`, `"weight":50`),
			await("the routes are counted",
				"kubectl groundskeeper drain web -n gimbal-discovery --dry-run",
				`2 routes send traffic`, `1 of them have no other backend`, `checkout`),
			look("the preview names the route that would fail, because it has no other backend."),
			run(drain, `patched`),
			run("kubectl wait dbe/web -n gimbal-discovery --for=condition=Drained --timeout=2m", `condition met`),
			run(`kubectl get httpproxy page -o jsonpath='{.spec.routes[0].services}{"\n"}'`,
				`"eu-page","port":80,"weight":50`, `"web-page","port":80,"weight":0`),
			look("all requests go to eu."),
			picture("/backends", "2 of 2 routes are drained"),
			run(`kubectl patch dbe web -n gimbal-discovery --type merge -p '{"cluster":{"clusterStatus":"Enabled"}}'`, `patched`),
			run(`kubectl wait dbe/web -n gimbal-discovery --for=jsonpath='{.status.conditions[?(@.type=="Drained")].reason}'=Enabled --timeout=2m`,
				`condition met`),
			run(`kubectl get httpproxy page -o jsonpath='{.spec}{"\n"}' | diff - $DEMO/before.json && echo "no difference"`,
				`no difference`),
		},
	}
}

// deorbit: act 6.
func (s *stage) deorbit() act {
	const inventory = "kubectl get --raw /_fake/ --server $OPENSTACK | grep -E 'load balancer|floating IP|volume|route '"
	return act{
		title: "the cluster is deleted",
		tell: "What a cluster made in OpenStack survives it, unless it is deleted first. Groundskeeper drains the cluster,\n" +
			"freezes it, deletes its claims, load balancers and addresses while its controllers run, and checks OpenStack\n" +
			"afterwards. It deletes nothing of the neighbor eu, which OpenStack knows as web-2, and nothing of which it does\n" +
			"not know that it was this cluster's: that is listed.",
		page: "Deorbit",
		steps: []step{
			run("kubectl --context web create -f hack/demo/manifests/cloud.yaml", `service/front created`),
			// The addresses are assigned in the order of the requests.
			run("kubectl --context web wait service/front --for=jsonpath='{.status.loadBalancer.ingress}' --timeout=60s", `condition met`),
			run("kubectl --context eu create -f hack/demo/manifests/cloud.yaml", `service/front created`),
			run("kubectl create --raw /_fake/projects/demo/volumes/forgotten --server $OPENSTACK -f hack/demo/manifests/volume.json"),
			await("both clusters have a load balancer and a volume",
				inventory,
				`kube_service_web_garden-shop_front`, `kube_service_web-2_garden-shop_front`, `volume .*cluster=web `, `volume .*cluster=web-2 `),
			run("kubectl delete cluster web --wait=false", `deleted`),
			behind("Cluster API deletes the machines; they wait for Groundskeeper", s.deleteMachines),
			await("the cluster is empty, and its machines are released", "kubectl get klusters", `web .* Machines`),
			run("kubectl get events --field-selector involvedObject.kind=Kluster,reason=DeorbitStage", `Drain begins`, `Machines begins`),
			behind("Cluster API's provider deletes the servers, and then the network", s.dismantle),
			await("OpenStack is checked",
				`kubectl get cluster web -o jsonpath='{range .status.conditions[?(@.type=="DeorbitCompleted")]}{.reason}: {.message}{"\n"}{end}'`,
				`^Leftovers: .*forgotten`),
			run(inventory, `kube_service_web-2_garden-shop_front`, `volume .*forgotten`, `!kube_service_web_`, `!route`),
			look("all that is left are the load balancer, the address and the volume of web-2, and the volume that the cluster web never had."),
			picture("/deorbit", "Left over: 1"),
			behind("Cluster API forgets the cluster", s.forgetCluster),
			await("Cluster and Kluster are gone", "kubectl get clusters,klusters", `No resources found`),
		},
	}
}

// forgotten: act 7.
func (s *stage) forgotten() act {
	return act{
		title: "the Project is forgotten",
		tell: "Nothing uses the Project any more. Usually it is marked after a month, and deleted three months later,\n" +
			"with notice. Here these days are set to 0, in two steps.",
		page: "search for shop: the timeline of the Project, until it is deleted",
		steps: []step{
			behind("the controller manager is restarted with hack/demo/manifests/stale.yaml", func(ctx context.Context) error {
				return s.configure(ctx, "stale.yaml")
			}),
			await("it is marked",
				`kubectl get project shop -o jsonpath='{range .status.conditions[?(@.type=="Stale")]}{.reason}: {.message}{"\n"}{end}'`,
				`^Unused: `),
			look("whoever uses the Project now, or sets the annotation, keeps it."),
			picture("/object/project//shop", "What saves it"),
			behind("the controller manager is restarted with hack/demo/manifests/forget.yaml", func(ctx context.Context) error {
				return s.configure(ctx, "forget.yaml")
			}),
			await("it is deleted", "kubectl get projects", `No resources found`),
			run("kubectl get events -n default --field-selector involvedObject.name=shop", `ProjectStale`),
			await("its namespace is gone", "kubectl get namespaces", `!garden-shop`),
		},
	}
}

// packets: act 8.
func (s *stage) packets() act {
	trace := `ovn-trace --minimal --lb-dst=10.1.1.11:8080 node-a 'inport=="default_client" && eth.src==0a:58:0a:01:00:63 && eth.dst==` +
		convert.MACForKey("node-a").String() + ` && ip4.src==10.1.0.99 && ip4.dst==10.0.0.10 && ip.ttl==64 && tcp && tcp.src==40000 && tcp.dst==80'` +
		` | sed '/^#/d'`
	return act{
		title: "packets find a Service in OVN",
		tell: "With OVN as the network of a cluster, Groundskeeper writes a switch for each Node, a port for each Pod and load balancers\n" +
			"for each Service. OVN's own servers run here, and ovn-trace tells what becomes of a packet. This act needs OVN=real.",
		page: "Network: the Service default/web",
		steps: []step{
			behind("OVN is started: both databases and ovn-northd", s.network),
			behind("the controller manager is restarted with hack/demo/manifests/ovn.yaml", s.translate),
			run("kubectl create -f hack/demo/manifests/network.yaml", `pod/web-0 created`, `service/web created`),
			behind("there is no kubelet: this program reports the addresses of the Pods", s.addresses),
			await("Nodes, Pods and Service are written",
				"kubectl get translations -n default",
				`node.4.node-a +\S+ +\S+ +\d+ +True`, `node.4.node-b +\S+ +\S+ +\d+ +True`, `pod.4.client +\S+ +\S+ +\d+ +True`,
				`pod.4.web-0 +\S+ +\S+ +\d+ +True`, `service.4.web +\S+ +\S+ +\d+ +True`,
				`(namespace.4.\S+ +\S+ +\S+ +\d+ +True .*\n){6}`, `service.4.kubernetes +\S+ +\S+ +\d+ +True`),
			run("ovn-nbctl lsp-list node-b", `default_web-0`),
			await("the load balancer has the endpoint", "ovn-nbctl lb-list | grep web", `10.0.0.10:80 +10.1.1.11:8080`),
			await("a packet from the Pod client to the Service leaves at the Pod web-0", trace, `output\("default_web-0"\)`),
			look("the load balancer has replaced the address of the Service by that of the Pod, on another Node."),
			picture("/network?kind=Service&namespace=default&name=web", "default/web/tcp"),
			run("kubectl create -f hack/demo/manifests/networkpolicy.yaml", `networkpolicy.networking.k8s.io/web created`),
			await("the same packet is dropped", trace, `!output\("default_web-0"\)`),
			run("kubectl delete networkpolicy web -n default", `deleted`),
			await("it arrives again", trace, `output\("default_web-0"\)`),
			run("ovn-nbctl lb-del default/web/tcp"),
			await("the load balancer is there again", "ovn-nbctl lb-list | grep web", `10.0.0.10:80 +10.1.1.11:8080`),
			look("what somebody else deletes is written again, as soon as the database reports it."),
		},
	}
}
