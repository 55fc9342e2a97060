package crypto

import (
	"fmt"
	"math/big"
	"math/bits"
	"sync"

	"cordwood/router/vrl/fn"
)

// A crcModel is a cyclic redundancy check with the parameters that catalogues use.
type crcModel struct {
	name               string
	width              uint
	poly, init, xorOut uint64
	// refIn is set if the lowest bit of a byte comes first. refOut says the same for the result.
	refIn, refOut bool
}

// crcWide is the only check with more than 64 bits. It has 82.
const crcWide = "CRC_82_DARC"

// crcModels are the checks of the catalogue of Greg Cook (reveng.sourceforge.io), whose
// names are written with underscores here.
var crcModels = []crcModel{
	{name: "CRC_3_GSM", width: 3, poly: 3, init: 0, refIn: false, refOut: false, xorOut: 7},
	{name: "CRC_3_ROHC", width: 3, poly: 3, init: 7, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_4_G_704", width: 4, poly: 3, init: 0, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_4_INTERLAKEN", width: 4, poly: 3, init: 0xf, refIn: false, refOut: false, xorOut: 0xf},
	{name: "CRC_5_EPC_C1G2", width: 5, poly: 9, init: 9, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_5_G_704", width: 5, poly: 0x15, init: 0, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_5_USB", width: 5, poly: 5, init: 0x1f, refIn: true, refOut: true, xorOut: 0x1f},
	{name: "CRC_6_CDMA2000_A", width: 6, poly: 0x27, init: 0x3f, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_6_CDMA2000_B", width: 6, poly: 7, init: 0x3f, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_6_DARC", width: 6, poly: 0x19, init: 0, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_6_G_704", width: 6, poly: 3, init: 0, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_6_GSM", width: 6, poly: 0x2f, init: 0, refIn: false, refOut: false, xorOut: 0x3f},
	{name: "CRC_7_MMC", width: 7, poly: 9, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_7_ROHC", width: 7, poly: 0x4f, init: 0x7f, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_7_UMTS", width: 7, poly: 0x45, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_8_AUTOSAR", width: 8, poly: 0x2f, init: 0xff, refIn: false, refOut: false, xorOut: 0xff},
	{name: "CRC_8_BLUETOOTH", width: 8, poly: 0xa7, init: 0, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_8_CDMA2000", width: 8, poly: 0x9b, init: 0xff, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_8_DARC", width: 8, poly: 0x39, init: 0, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_8_DVB_S2", width: 8, poly: 0xd5, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_8_GSM_A", width: 8, poly: 0x1d, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_8_GSM_B", width: 8, poly: 0x49, init: 0, refIn: false, refOut: false, xorOut: 0xff},
	{name: "CRC_8_HITAG", width: 8, poly: 0x1d, init: 0xff, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_8_I_432_1", width: 8, poly: 7, init: 0, refIn: false, refOut: false, xorOut: 0x55},
	{name: "CRC_8_I_CODE", width: 8, poly: 0x1d, init: 0xfd, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_8_LTE", width: 8, poly: 0x9b, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_8_MAXIM_DOW", width: 8, poly: 0x31, init: 0, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_8_MIFARE_MAD", width: 8, poly: 0x1d, init: 0xc7, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_8_NRSC_5", width: 8, poly: 0x31, init: 0xff, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_8_OPENSAFETY", width: 8, poly: 0x2f, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_8_ROHC", width: 8, poly: 7, init: 0xff, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_8_SAE_J1850", width: 8, poly: 0x1d, init: 0xff, refIn: false, refOut: false, xorOut: 0xff},
	{name: "CRC_8_SMBUS", width: 8, poly: 7, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_8_TECH_3250", width: 8, poly: 0x1d, init: 0xff, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_8_WCDMA", width: 8, poly: 0x9b, init: 0, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_10_ATM", width: 10, poly: 0x233, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_10_CDMA2000", width: 10, poly: 0x3d9, init: 0x3ff, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_10_GSM", width: 10, poly: 0x175, init: 0, refIn: false, refOut: false, xorOut: 0x3ff},
	{name: "CRC_11_FLEXRAY", width: 11, poly: 0x385, init: 0x1a, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_11_UMTS", width: 11, poly: 0x307, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_12_CDMA2000", width: 12, poly: 0xf13, init: 0xfff, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_12_DECT", width: 12, poly: 0x80f, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_12_GSM", width: 12, poly: 0xd31, init: 0, refIn: false, refOut: false, xorOut: 0xfff},
	{name: "CRC_12_UMTS", width: 12, poly: 0x80f, init: 0, refIn: false, refOut: true, xorOut: 0},
	{name: "CRC_13_BBC", width: 13, poly: 0x1cf5, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_14_DARC", width: 14, poly: 0x805, init: 0, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_14_GSM", width: 14, poly: 0x202d, init: 0, refIn: false, refOut: false, xorOut: 0x3fff},
	{name: "CRC_15_CAN", width: 15, poly: 0x4599, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_15_MPT1327", width: 15, poly: 0x6815, init: 0, refIn: false, refOut: false, xorOut: 1},
	{name: "CRC_16_ARC", width: 16, poly: 0x8005, init: 0, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_16_CDMA2000", width: 16, poly: 0xc867, init: 0xffff, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_16_CMS", width: 16, poly: 0x8005, init: 0xffff, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_16_DDS_110", width: 16, poly: 0x8005, init: 0x800d, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_16_DECT_R", width: 16, poly: 0x589, init: 0, refIn: false, refOut: false, xorOut: 1},
	{name: "CRC_16_DECT_X", width: 16, poly: 0x589, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_16_DNP", width: 16, poly: 0x3d65, init: 0, refIn: true, refOut: true, xorOut: 0xffff},
	{name: "CRC_16_EN_13757", width: 16, poly: 0x3d65, init: 0, refIn: false, refOut: false, xorOut: 0xffff},
	{name: "CRC_16_GENIBUS", width: 16, poly: 0x1021, init: 0xffff, refIn: false, refOut: false, xorOut: 0xffff},
	{name: "CRC_16_GSM", width: 16, poly: 0x1021, init: 0, refIn: false, refOut: false, xorOut: 0xffff},
	{name: "CRC_16_IBM_3740", width: 16, poly: 0x1021, init: 0xffff, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_16_IBM_SDLC", width: 16, poly: 0x1021, init: 0xffff, refIn: true, refOut: true, xorOut: 0xffff},
	{name: "CRC_16_ISO_IEC_14443_3_A", width: 16, poly: 0x1021, init: 0xc6c6, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_16_KERMIT", width: 16, poly: 0x1021, init: 0, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_16_LJ1200", width: 16, poly: 0x6f63, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_16_M17", width: 16, poly: 0x5935, init: 0xffff, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_16_MAXIM_DOW", width: 16, poly: 0x8005, init: 0, refIn: true, refOut: true, xorOut: 0xffff},
	{name: "CRC_16_MCRF4XX", width: 16, poly: 0x1021, init: 0xffff, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_16_MODBUS", width: 16, poly: 0x8005, init: 0xffff, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_16_NRSC_5", width: 16, poly: 0x80b, init: 0xffff, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_16_OPENSAFETY_A", width: 16, poly: 0x5935, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_16_OPENSAFETY_B", width: 16, poly: 0x755b, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_16_PROFIBUS", width: 16, poly: 0x1dcf, init: 0xffff, refIn: false, refOut: false, xorOut: 0xffff},
	{name: "CRC_16_RIELLO", width: 16, poly: 0x1021, init: 0xb2aa, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_16_SPI_FUJITSU", width: 16, poly: 0x1021, init: 0x1d0f, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_16_T10_DIF", width: 16, poly: 0x8bb7, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_16_TELEDISK", width: 16, poly: 0xa097, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_16_TMS37157", width: 16, poly: 0x1021, init: 0x89ec, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_16_UMTS", width: 16, poly: 0x8005, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_16_USB", width: 16, poly: 0x8005, init: 0xffff, refIn: true, refOut: true, xorOut: 0xffff},
	{name: "CRC_16_XMODEM", width: 16, poly: 0x1021, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_17_CAN_FD", width: 17, poly: 0x1685b, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_21_CAN_FD", width: 21, poly: 0x102899, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_24_BLE", width: 24, poly: 0x65b, init: 0x555555, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_24_FLEXRAY_A", width: 24, poly: 0x5d6dcb, init: 0xfedcba, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_24_FLEXRAY_B", width: 24, poly: 0x5d6dcb, init: 0xabcdef, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_24_INTERLAKEN", width: 24, poly: 0x328b63, init: 0xffffff, refIn: false, refOut: false, xorOut: 0xffffff},
	{name: "CRC_24_LTE_A", width: 24, poly: 0x864cfb, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_24_LTE_B", width: 24, poly: 0x800063, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_24_OPENPGP", width: 24, poly: 0x864cfb, init: 0xb704ce, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_24_OS_9", width: 24, poly: 0x800063, init: 0xffffff, refIn: false, refOut: false, xorOut: 0xffffff},
	{name: "CRC_30_CDMA", width: 30, poly: 0x2030b9c7, init: 0x3fffffff, refIn: false, refOut: false, xorOut: 0x3fffffff},
	{
		name: "CRC_31_PHILIPS", width: 31, poly: 0x4c11db7, init: 0x7fffffff, refIn: false, refOut: false,
		xorOut: 0x7fffffff,
	},
	{name: "CRC_32_AIXM", width: 32, poly: 0x814141ab, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_32_AUTOSAR", width: 32, poly: 0xf4acfb13, init: 0xffffffff, refIn: true, refOut: true, xorOut: 0xffffffff},
	{
		name: "CRC_32_BASE91_D", width: 32, poly: 0xa833982b, init: 0xffffffff, refIn: true, refOut: true,
		xorOut: 0xffffffff,
	},
	{name: "CRC_32_BZIP2", width: 32, poly: 0x4c11db7, init: 0xffffffff, refIn: false, refOut: false, xorOut: 0xffffffff},
	{name: "CRC_32_CD_ROM_EDC", width: 32, poly: 0x8001801b, init: 0, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_32_CKSUM", width: 32, poly: 0x4c11db7, init: 0, refIn: false, refOut: false, xorOut: 0xffffffff},
	{name: "CRC_32_ISCSI", width: 32, poly: 0x1edc6f41, init: 0xffffffff, refIn: true, refOut: true, xorOut: 0xffffffff},
	{name: "CRC_32_ISO_HDLC", width: 32, poly: 0x4c11db7, init: 0xffffffff, refIn: true, refOut: true, xorOut: 0xffffffff},
	{name: "CRC_32_JAMCRC", width: 32, poly: 0x4c11db7, init: 0xffffffff, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_32_MEF", width: 32, poly: 0x741b8cd7, init: 0xffffffff, refIn: true, refOut: true, xorOut: 0},
	{name: "CRC_32_MPEG_2", width: 32, poly: 0x4c11db7, init: 0xffffffff, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_32_XFER", width: 32, poly: 0xaf, init: 0, refIn: false, refOut: false, xorOut: 0},
	{name: "CRC_40_GSM", width: 40, poly: 0x4820009, init: 0, refIn: false, refOut: false, xorOut: 0xffffffffff},
	{name: "CRC_64_ECMA_182", width: 64, poly: 0x42f0e1eba9ea3693, init: 0, refIn: false, refOut: false, xorOut: 0},
	{
		name: "CRC_64_GO_ISO", width: 64, poly: 0x1b, init: 0xffffffffffffffff, refIn: true, refOut: true,
		xorOut: 0xffffffffffffffff,
	},
	{
		name: "CRC_64_MS", width: 64, poly: 0x259c84cba6426349, init: 0xffffffffffffffff, refIn: true, refOut: true,
		xorOut: 0,
	},
	{
		name: "CRC_64_NVME", width: 64, poly: 0xad93d23594c93659, init: 0xffffffffffffffff, refIn: true, refOut: true,
		xorOut: 0xffffffffffffffff,
	},
	{name: "CRC_64_REDIS", width: 64, poly: 0xad93d23594c935a9, init: 0, refIn: true, refOut: true, xorOut: 0},
	{
		name: "CRC_64_WE", width: 64, poly: 0x42f0e1eba9ea3693, init: 0xffffffffffffffff, refIn: false, refOut: false,
		xorOut: 0xffffffffffffffff,
	},
	{
		name: "CRC_64_XZ", width: 64, poly: 0x42f0e1eba9ea3693, init: 0xffffffffffffffff, refIn: true, refOut: true,
		xorOut: 0xffffffffffffffff,
	},
}

// A crcTable computes a check one byte at a time. The register is in the upper bits of its 64 bits, or in the lower
// ones if refIn is set.
type crcTable struct {
	model crcModel
	once  sync.Once
	table [256]uint64
}

var crcTables = func() map[string]*crcTable {
	m := make(map[string]*crcTable, len(crcModels))
	for _, x := range crcModels {
		m[x.name] = &crcTable{model: x}
	}
	return m
}()

// reflect reverses the lower bits of x.
func reflect(x uint64, width uint) uint64 { return bits.Reverse64(x) >> (64 - width) }

func (t *crcTable) fill() {
	m := t.model
	for i := range t.table {
		if m.refIn {
			x, poly := uint64(i), reflect(m.poly, m.width)
			for range 8 {
				x = x>>1 ^ poly&-(x&1)
			}
			t.table[i] = x
			continue
		}
		x, poly := uint64(i)<<56, m.poly<<(64-m.width)
		for range 8 {
			x = x<<1 ^ poly&-(x>>63)
		}
		t.table[i] = x
	}
}

// sum returns the check of s.
func (t *crcTable) sum(s string) uint64 {
	t.once.Do(t.fill)
	m := t.model
	var x uint64
	if m.refIn {
		x = reflect(m.init, m.width)
		for i := range len(s) {
			x = x>>8 ^ t.table[byte(x)^s[i]]
		}
	} else {
		x = m.init << (64 - m.width)
		for i := range len(s) {
			x = x<<8 ^ t.table[byte(x>>56)^s[i]]
		}
		x >>= 64 - m.width
	}
	if m.refIn != m.refOut {
		x = reflect(x, m.width)
	}
	return x ^ m.xorOut
}

// wideSum returns the check of 82 bits, as decimal digits.
func wideSum(s string) string {
	// The polynomial 0x0308c0111011401440411, with the lowest bit first.
	const polyHigh, polyLow = 0x22080, 0x8a00a2022200c430
	var high, low uint64
	for i := range len(s) {
		low ^= uint64(s[i])
		for range 8 {
			mask := -(low & 1)
			low = low>>1 | high<<63
			high = high>>1 ^ polyHigh&mask
			low ^= polyLow & mask
		}
	}
	return decimal128(high, low)
}

// decimal128 returns a number of 128 bits as decimal digits.
func decimal128(high, low uint64) string {
	x := new(big.Int).SetUint64(high)
	return x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(low)).String()
}

func crcEnum() []fn.Enum {
	list := make([]fn.Enum, 0, len(crcModels)+1)
	for _, m := range crcModels {
		list = append(list, fn.Enum{Value: m.name, Doc: fmt.Sprintf("%d bits, polynomial %#x", m.width, m.poly)})
	}
	return append(list, fn.Enum{Value: crcWide, Doc: "82 bits, polynomial 0x308c0111011401440411"})
}
