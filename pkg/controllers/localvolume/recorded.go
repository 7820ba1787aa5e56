// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WorkloadRecordNamespace is the namespace of the record in a cluster that is cleaned up from another one. Every cluster has it.
const WorkloadRecordNamespace = "kube-system"

// Recorded is what the record has for users.
type Recorded struct {
	Plan
	// Confirmed is when a controller last confirmed that the nodes are missing, by the clock of the API server.
	Confirmed *time.Time `json:"confirmed,omitempty"`
	// Acknowledged is how many missing nodes a user acknowledged.
	Acknowledged string `json:"acknowledged,omitempty"`
}

// FindRecord reads the record from the first of the namespaces that has one; nil if none does. Namespaces that may not be read are
// skipped, as long as one that may be has a record: otherwise there may be one.
func FindRecord(ctx context.Context, c client.Reader, namespaces ...string) (*Recorded, error) {
	var forbidden error
	for _, namespace := range namespaces {
		object := &corev1.ConfigMap{}
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: RecordName}, object)
		switch {
		case apierrors.IsNotFound(err):
		case apierrors.IsForbidden(err) && forbidden == nil:
			forbidden = fmt.Errorf("get config map %s/%s: %w", namespace, RecordName, err)
		case apierrors.IsForbidden(err):
		case err != nil:
			return nil, fmt.Errorf("get config map %s/%s: %w", namespace, RecordName, err)
		default:
			return recordedIn(object)
		}
	}
	return nil, forbidden
}

func recordedIn(object *corev1.ConfigMap) (*Recorded, error) {
	recorded := &Recorded{Acknowledged: object.Annotations[AcknowledgeAnnotation]}
	if at, err := time.Parse(time.RFC3339Nano, object.Annotations[ConfirmedAnnotation]); err == nil {
		recorded.Confirmed = &at
	}
	text := object.Data[PlanKey]
	if text == "" {
		return recorded, nil
	}
	if err := json.Unmarshal([]byte(text), &recorded.Plan); err != nil {
		return nil, fmt.Errorf("read key %s of config map %s/%s: %w", PlanKey, object.Namespace, object.Name, err)
	}
	return recorded, nil
}
