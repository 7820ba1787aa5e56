// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// OwnErrors returns the entries of status.errors that a field owner wrote, according to the managed fields: the list has those of
// several. The owner applies nothing of a backend but the status.
func OwnErrors(backend *gimbalv1.DiscoveryBackend, owner string) ([]gimbalv1.DiscoveryError, error) {
	i := slices.IndexFunc(backend.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == owner && entry.Operation == metav1.ManagedFieldsOperationApply
	})
	if i < 0 || backend.ManagedFields[i].FieldsV1 == nil {
		return nil, nil
	}
	fields := struct {
		Status struct {
			Errors map[string]json.RawMessage `json:"f:errors"`
		} `json:"f:status"`
	}{}
	if err := json.Unmarshal(backend.ManagedFields[i].FieldsV1.GetRawBytes(), &fields); err != nil {
		return nil, fmt.Errorf("read the managed fields of DiscoveryBackend %s/%s: %w", backend.Namespace, backend.Name, err)
	}
	var own []gimbalv1.DiscoveryError
	for key := range fields.Status.Errors {
		// An element of a list is named by its keys: k:{"message":"…","type":"…"}.
		names, ok := strings.CutPrefix(key, "k:")
		if !ok {
			continue
		}
		var entry gimbalv1.DiscoveryError
		if err := json.Unmarshal([]byte(names), &entry); err != nil {
			return nil, fmt.Errorf("read the managed fields of DiscoveryBackend %s/%s: %w", backend.Namespace, backend.Name, err)
		}
		if i := slices.IndexFunc(backend.Status.Errors, Same(entry)); i >= 0 {
			own = append(own, backend.Status.Errors[i])
		}
	}
	return own, nil
}
