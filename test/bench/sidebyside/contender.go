// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// contender is one way to serve the objects.
type contender struct {
	// name is how it is called in reports: what serves, in which encoding, for whom.
	name string
	// config leads to the server that requests are sent to.
	config *rest.Config
	// root is the path of the group version.
	root string
	// media is the type of bodies and responses, encode makes bodies.
	media  string
	encode encoder
	// processes are those whose CPU time counts as what the contender costs.
	processes []*plane.Process
}

// Names of the contenders, in the order of reports. The first one is what the others are compared with.
const (
	crdName      = "CRD"
	jsonName     = "ours, JSON"
	protobufName = "ours, protobuf"
)

// contenders returns a CustomResourceDefinition, which is served in JSON only, and Groundskeeper's API server through the kube-apiserver,
// as users reach it, in both encodings.
func (c *comparison) contenders() []contender {
	kube, both := []*plane.Process{c.KubeAPIServer}, []*plane.Process{c.KubeAPIServer, c.APIServers[0]}
	root := "/apis/" + midonetv1.SchemeGroupVersion.String()
	return []contender{
		{crdName, c.Config(), "/apis/" + crdGroup + "/v1", typeJSON, jsonAs(crdGroup), kube},
		{jsonName, c.Config(), root, typeJSON, jsonAs(midonetv1.GroupName), both},
		{protobufName, c.Config(), root, typeProtobuf, asProtobuf, both},
	}
}

// collection returns the path of the objects of a namespace.
func (c *contender) collection(namespace string) string {
	return c.root + "/namespaces/" + namespace + "/" + plural
}

func (c *contender) get(t *midonetv1.Translation) request {
	return request{method: "GET", path: c.collection(t.Namespace) + "/" + t.Name}
}

func (c *contender) delete(t *midonetv1.Translation) request {
	return request{method: "DELETE", path: c.collection(t.Namespace) + "/" + t.Name}
}

// create returns the request that creates an object.
func (c *contender) create(t *midonetv1.Translation) (request, error) {
	body, err := c.encode(t)
	return request{"POST", c.collection(t.Namespace), c.media, body}, err
}

// replace returns the request that replaces an object by what was read of it and a new value.
func (c *contender) replace(t *midonetv1.Translation, value string) (request, error) {
	t = t.DeepCopy()
	t.Annotations["bench.groundskeeper.io/value"] = value
	body, err := c.encode(t)
	return request{"PUT", c.collection(t.Namespace) + "/" + t.Name, c.media, body}, err
}

// apply returns the request that applies a new value by server-side apply.
func (c *contender) apply(namespace, name, value string) request {
	version := c.root[len("/apis/"):]
	body := fmt.Sprintf(`{"apiVersion":%q,"kind":"Translation","metadata":{"name":%q,"annotations":{"bench.groundskeeper.io/applied":%q}}}`,
		version, name, value)
	return request{"PATCH", c.collection(namespace) + "/" + name + "?fieldManager=bench&force=true", typeApply, []byte(body)}
}

// release takes the finalizer off.
func (c *contender) release(namespace, name string) request {
	return request{"PATCH", c.collection(namespace) + "/" + name, typeMerge, []byte(`{"metadata":{"finalizers":null}}`)}
}

// clients makes as many clients as there are workers.
func (c *contender) clients(n int) ([]*client, error) {
	all := make([]*client, n)
	for i := range all {
		var err error
		if all[i], err = newClient(c.config, c.media); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// fill creates objects 0 to n-1 and returns what the server made of them.
func (c *contender) fill(ctx context.Context, namespace string, n int) ([]*midonetv1.Translation, error) {
	clients, err := c.clients(fillers)
	if err != nil {
		return nil, err
	}
	defer closeAll(clients)
	objects := make([]*midonetv1.Translation, n)
	err = each(ctx, clients, n, func(ctx context.Context, client *client, i int) error {
		r, err := c.create(newTranslation(namespace, nameOf(i), i, "0"))
		if err != nil {
			return err
		}
		response, err := client.do(ctx, r)
		if err != nil {
			return err
		}
		objects[i], err = decode(response)
		return err
	})
	return objects, err
}

// releaseAll takes the finalizers off objects that are being deleted, and waits for nothing: they have been deleted then.
func (c *contender) releaseAll(ctx context.Context, namespace string, objects []*midonetv1.Translation) error {
	return c.forAll(ctx, objects, func(ctx context.Context, client *client, t *midonetv1.Translation) error {
		_, err := client.do(ctx, c.release(namespace, t.Name))
		return err
	})
}

// dropAll deletes objects, one by one: a request that deletes thousands of a CustomResourceDefinition may take longer than a
// server gives it.
func (c *contender) dropAll(ctx context.Context, namespace string, objects []*midonetv1.Translation) error {
	return c.forAll(ctx, objects, func(ctx context.Context, client *client, t *midonetv1.Translation) error {
		if _, err := client.do(ctx, c.delete(t)); err != nil {
			return err
		}
		_, err := client.do(ctx, c.release(namespace, t.Name))
		return err
	})
}

// forAll does something to each of the objects, by many clients.
func (c *contender) forAll(
	ctx context.Context, objects []*midonetv1.Translation, do func(context.Context, *client, *midonetv1.Translation) error,
) error {
	clients, err := c.clients(fillers)
	if err != nil {
		return err
	}
	defer closeAll(clients)
	return each(ctx, clients, len(objects), func(ctx context.Context, client *client, i int) error { return do(ctx, client, objects[i]) })
}

// fillers are the clients that make and drop what is not measured.
const fillers = 16

func closeAll(clients []*client) {
	for _, client := range clients {
		client.close()
	}
}

func nameOf(i int) string { return fmt.Sprintf("pod.4.bench-%06d", i) }
