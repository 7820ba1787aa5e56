// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestUnavailableHost(t *testing.T) {
	w := newWorld(t)
	respond := func(verb, resource string, err error) func(string, string) error {
		return func(v, r string) error {
			if v == verb && r == resource {
				return err
			}
			return nil
		}
	}
	forbidden := func(resource string) error {
		return apierrors.NewForbidden(corev1.Resource(resource), "", errors.New("no RBAC"))
	}
	for name, test := range map[string]struct {
		fail func(string, string) error
		want []string
	}{
		"namespace missing": {respond("create", "configmaps", apierrors.NewNotFound(corev1.Resource("namespaces"), Namespace)), []string{"kubectl create namespace groundskeeper-system"}},
		"get forbidden":     {respond("get", "configmaps", forbidden("configmaps")), []string{"get ConfigMap groundskeeper-system/groundskeeper-store", "apply the RBAC", "no RBAC"}},
		"create forbidden":  {respond("create", "configmaps", forbidden("configmaps")), []string{"write ConfigMap groundskeeper-system/groundskeeper-store", "apply the RBAC", "no RBAC"}},
		"list forbidden":    {respond("list", "namespaces", forbidden("namespaces")), []string{"list namespaces", "apply the RBAC", "no RBAC"}},
		"unauthorized":      {respond("get", "configmaps", apierrors.NewUnauthorized("who?")), []string{"get ConfigMap", "who?"}},
		"unreachable":       {respond("get", "configmaps", errors.New("connection refused")), []string{"does not respond", "--kubeconfig", "connection refused"}},
		"overloaded":        {respond("list", "namespaces", apierrors.NewTooManyRequests("later", 1)), []string{"does not respond", "list namespaces", "later"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.wipe(t)
			w.host.set(nil)
			w.host.setFail(test.fail)
			defer w.host.setFail(nil)
			config := w.config()
			config.Timeout = 2 * time.Second
			rejected(t, config, test.want...)
		})
	}
	t.Run("unreachable for a while", func(t *testing.T) {
		w.wipe(t)
		calls := 0
		w.host.setFail(func(string, string) error {
			if calls++; calls < 3 {
				return errors.New("connection refused")
			}
			return nil
		})
		verified(t, w.config())
	})
}

func TestSpoiledRecords(t *testing.T) {
	w := newWorld(t)
	for _, value := range []string{"", "nothing", "{}", `{"id":""}`} {
		w.restore(t, map[string]string{prefix + "/store": value})
		rejected(t, w.config(), prefix+"/store", "does not name a store")
	}
	w.wipe(t)
	for _, data := range []map[string]string{nil, {"id": "a"}, {"revision": "1"}, {"id": "a", "revision": "x"}, {"id": "a", "revision": "-1"}} {
		w.host.set(&Record{})
		w.host.configMap.Data = data
		rejected(t, w.config(), "groundskeeper-system/groundskeeper-store", "does not name a store")
	}
}

func TestUnavailableEtcd(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	if err := w.etcd.Close(); err != nil {
		t.Fatal(err)
	}
	rejected(t, config, fmt.Sprintf("etcd key %s/store", prefix))
}
