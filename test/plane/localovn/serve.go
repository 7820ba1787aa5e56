// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// serve plays the containers of a Pod: it responds on TCP ports with the name of the Pod, until the context ends, after it prepared
// its interface.
func serve(ctx context.Context, prepare func() error, name string, ports []string) error {
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, name)
	})}
	if err := prepare(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if len(ports) == 0 {
		<-ctx.Done()
		return nil
	}
	ended := make(chan error)
	for _, port := range ports {
		listener, err := net.Listen("tcp", ":"+port) //nolint:noctx // it takes no time
		if err != nil {
			return err
		}
		go func() { ended <- server.Serve(listener) }()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
