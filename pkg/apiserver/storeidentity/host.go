// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	idKey       = "id"
	revisionKey = "revision"

	configMapName = Namespace + "/" + Name

	retryInterval = time.Second
)

// host is the part of the management cluster that remembers the store.
type host struct {
	client kubernetes.Interface
	// patient calls again until the context ends when there is no response.
	patient bool
}

// record reads what the cluster remembers, nil when it remembers nothing, and the version to write
// against ("": there is no ConfigMap).
func (h host) record(ctx context.Context) (*Record, string, error) {
	var configMap *corev1.ConfigMap
	err := h.call(ctx, "get ConfigMap "+configMapName, func(ctx context.Context) (err error) {
		configMap, err = h.client.CoreV1().ConfigMaps(Namespace).Get(ctx, Name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	revision, err := strconv.ParseInt(configMap.Data[revisionKey], 10, 64)
	if err != nil || configMap.Data[idKey] == "" || revision < 0 {
		return nil, "", fmt.Errorf("ConfigMap %s does not name a store: restore its data (id, revision), or delete it when the store is the "+
			"right one", configMapName)
	}
	return &Record{ID: configMap.Data[idKey], Revision: revision}, configMap.ResourceVersion, nil
}

// write makes the cluster remember a record, if the ConfigMap is still at the version. It reports whether it was.
func (h host) write(ctx context.Context, record Record, version string) (bool, error) {
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name, ResourceVersion: version},
		Data:       map[string]string{idKey: record.ID, revisionKey: strconv.FormatInt(record.Revision, 10)},
	}
	err := h.call(ctx, "write ConfigMap "+configMapName, func(ctx context.Context) (err error) {
		if version == "" {
			_, err = h.client.CoreV1().ConfigMaps(Namespace).Create(ctx, configMap, metav1.CreateOptions{})
		} else {
			_, err = h.client.CoreV1().ConfigMaps(Namespace).Update(ctx, configMap, metav1.UpdateOptions{})
		}
		return err
	})
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return false, nil
	case apierrors.IsNotFound(err) && version != "":
		return false, nil // deleted meanwhile
	case apierrors.IsNotFound(err):
		return false, fmt.Errorf("namespace %s does not exist: create it (kubectl create namespace %s), the store is recorded there", Namespace,
			Namespace)
	}
	return err == nil, err
}

// dependents returns the names of the namespaces that belong to a Project: those that name one, and those of earlier versions,
// which have one as their owner.
func (h host) dependents(ctx context.Context) ([]string, error) {
	var list *corev1.NamespaceList
	ofProjects := metav1.ListOptions{LabelSelector: gardenerv1beta1.LabelRole + "=" + gardenerv1beta1.RoleProject}
	err := h.call(ctx, "list namespaces", func(ctx context.Context) (err error) {
		list, err = h.client.CoreV1().Namespaces().List(ctx, ofProjects)
		return err
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, namespace := range list.Items {
		isNamed := namespace.Annotations[gardenerv1beta1.AnnotationProjectUID] != ""
		if isNamed || slices.ContainsFunc(namespace.OwnerReferences, gardenerv1beta1.IsProject) {
			names = append(names, namespace.Name)
		}
	}
	return names, nil
}

// call queries the cluster; a patient one until it responds. A response is returned unchanged, or with what to do about it.
func (h host) call(ctx context.Context, what string, request func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, retryInterval, true, func(ctx context.Context) (bool, error) {
		err := request(ctx)
		if h.patient && kit.IsUnavailable(err) {
			last = err
			return false, nil
		}
		return true, err
	})
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("store identity: the kube-apiserver does not let this server %s, apply the RBAC of the installation: %w", what, err)
	case kit.IsUnavailable(err), ctx.Err() != nil:
		return fmt.Errorf("store identity: the kube-apiserver does not respond (%s), check --kubeconfig: %w", what, cmp.Or(last, err))
	}
	return err
}
