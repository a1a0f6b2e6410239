package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
)

// caller has at most one request in flight.
type caller interface {
	// call sends one request, and returns how many bytes the answer's body has, once it is there and right.
	call() (int, error)
	close()
}

// httpCaller is a keep-alive connection of HTTP/1.1.
type httpCaller struct {
	connection net.Conn
	reader     *bufio.Reader
	head       []byte
	bodies     *bodies
	items      int
	contained  []byte
	body, text []byte
	answer     []byte
}

func dialHTTP(address *url.URL, made *bodies, items int, contained []byte) (*httpCaller, error) {
	connection, err := net.Dial("tcp", address.Host)
	if err != nil {
		return nil, err
	}
	head := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: ",
		address.RequestURI(), address.Host)
	return &httpCaller{connection: connection, reader: bufio.NewReaderSize(connection, 1<<16), head: head,
		bodies: made, items: items, contained: contained}, nil
}

func (c *httpCaller) close() { c.connection.Close() }

func (c *httpCaller) call() (int, error) {
	body, first, last := c.bodies.write(c.body[:0])
	text := strconv.AppendInt(append(c.text[:0], c.head...), int64(len(body)), 10)
	text = append(append(text, "\r\n\r\n"...), body...)
	c.body, c.text = body, text
	if _, err := c.connection.Write(text); err != nil {
		return 0, err
	}
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
		rest, _ := c.reader.Peek(c.reader.Buffered())
		return 0, fmt.Errorf("%s %.500q", bytes.TrimSpace(line), rest)
	}
	length := -1
	for {
		line, err = c.reader.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			break
		}
		if len(line) > 15 && bytes.EqualFold(line[:15], []byte("Content-Length:")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[15:]))); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, fmt.Errorf("an answer without Content-Length")
	}
	if cap(c.answer) < length {
		c.answer = make([]byte, length)
	}
	c.answer = c.answer[:length]
	if _, err = io.ReadFull(c.reader, c.answer); err != nil {
		return 0, err
	}
	return length, check(c.answer, c.items, c.contained, first, last)
}
