// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deleteNamespaces deletes the namespaces of the installation with all that is in them.
func (u *Uninstaller) deleteNamespaces(ctx context.Context) (string, error) {
	var deleted []string
	err := u.until(ctx, "namespaces", func(ctx context.Context) (left, error) {
		namespaces, err := u.metadataOf(ctx, namespaceResource, metav1.NamespaceAll, partOf+"="+product)
		if err != nil {
			return left{}, err
		}
		var l left
		for i := range namespaces {
			n := &namespaces[i]
			if n.DeletionTimestamp.IsZero() {
				deleted = append(deleted, n.Name)
				if err := u.remove(ctx, namespaceResource, "", n.Name, string(n.UID), metav1.DeletePropagationBackground); err != nil {
					return left{}, err
				}
			}
			l.names = append(l.names, "namespace "+n.Name)
			if l.why == "" {
				l.why = u.whyNamespace(ctx, n.Name)
			}
		}
		return l, nil
	})
	if err != nil || len(deleted) == 0 {
		return "", err
	}
	return fmt.Sprintf("namespaces %s have been deleted", strings.Join(deleted, ", ")), nil
}

// whyNamespace is what the namespace controller reports that it waits for.
func (u *Uninstaller) whyNamespace(ctx context.Context, name string) string {
	namespace := &corev1.Namespace{}
	if err := u.Client.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return ""
	}
	for _, c := range namespace.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}
