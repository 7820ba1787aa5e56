// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
	"groundskeeper.io/groundskeeper/pkg/serverstate"
)

// publish publishes who decides about Projects before the port is opened, and until the server has drained. A server of other kinds only
// decides about none.
func (o *Options) publish(ctx context.Context, host kubernetes.Interface) (stop func(), err error) {
	served, err := o.served()
	if err != nil || !backup.ServesProjects(served) {
		return func() {}, err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	publisher := serverstate.NewPublisher(host.CoreV1(), hostname+"_"+string(uuid.NewUUID()), o.ProjectAuthorization, clock.RealClock{})
	if err := publisher.First(ctx); err != nil {
		return nil, err
	}
	return whileDraining(ctx, publisher.Run), nil
}
