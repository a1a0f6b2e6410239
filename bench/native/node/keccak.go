package main

import (
	"encoding/binary"
	"math/bits"
)

var rounds = [24]uint64{
	0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
	0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
	0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
	0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
	0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
	0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
}

const rate = 136

// keccak returns the Keccak-256 of data, with the padding of before FIPS 202 (the standard library has only the one
// after it).
func keccak(data []byte) [32]byte {
	var state [25]uint64
	for ; len(data) >= rate; data = data[rate:] {
		absorb(&state, data[:rate])
	}
	var last [rate]byte
	copy(last[:], data)
	last[len(data)] ^= 0x01
	last[rate-1] ^= 0x80
	absorb(&state, last[:])
	var digest [32]byte
	for place := range 4 {
		binary.LittleEndian.PutUint64(digest[8*place:], state[place])
	}
	return digest
}

func absorb(state *[25]uint64, block []byte) {
	for place := range rate / 8 {
		state[place] ^= binary.LittleEndian.Uint64(block[8*place:])
	}
	for _, constant := range rounds {
		var parity [5]uint64
		for x := range 5 {
			parity[x] = state[x] ^ state[x+5] ^ state[x+10] ^ state[x+15] ^ state[x+20]
		}
		for x := range 5 {
			mixed := parity[(x+4)%5] ^ bits.RotateLeft64(parity[(x+1)%5], 1)
			for y := 0; y < 25; y += 5 {
				state[x+y] ^= mixed
			}
		}
		x, y, carried := 1, 0, state[1]
		for step := range 24 {
			x, y = y, (2*x+3*y)%5
			place := x + 5*y
			carried, state[place] = state[place], bits.RotateLeft64(carried, (step+1)*(step+2)/2%64)
		}
		for y := 0; y < 25; y += 5 {
			row := [5]uint64(state[y : y+5])
			for x := range 5 {
				state[y+x] = row[x] ^ ^row[(x+1)%5]&row[(x+2)%5]
			}
		}
		state[0] ^= constant
	}
}
