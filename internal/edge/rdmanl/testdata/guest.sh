# Sets up the guest as for the recording of the .hex files; run in it as root.
# The guest has rxe0 on eth0 (192.0.2.1/24). Folder $1 has kernel modules that may
# not be in the guest's image. netdevsim there is Debian's 6.1.192-2 source with
# one function added, an ndo_get_vf_guid that returns for virtual function N the
# node GUID 0xb83fd20300a51000+N and the port GUID 0xb83fd20300a52000+N; the
# messages come from the kernel's unchanged net/core/rtnetlink.c.
set -ex
cd "$1"
for m in psample llc stp mrp garp 8021q macvlan "dummy numdummies=0" veth tls "bonding max_bonds=0" netdevsim; do
  set -- $m
  insmod "$1.ko" $2
done
ip link add link eth0 name eth0.100 type vlan id 100
ip link set eth0.100 up
ip addr add 198.51.100.1/24 dev eth0.100
ip addr add 2001:db8:100::1/64 dev eth0.100 nodad
ip addr add 2001:db8::1/64 dev eth0 nodad
ip addr add 192.0.2.9/24 dev eth0 label eth0:1
ip link add link eth0 name mv0 address 02:00:00:00:00:06 type macvlan mode bridge
ip link add dummy0 address 02:00:00:00:00:07 type dummy
ip addr add 10.9.0.1 peer 10.9.0.2/32 dev dummy0
ip link set dummy0 up
ip link add bond0 type bond mode active-backup
ip link add dummy1 address 02:00:00:00:00:09 type dummy
ip link set dummy1 master bond0
ip netns add other
ip link add ve0 address 02:00:00:00:00:0a type veth peer name ve1 netns other
ip route add default via 192.0.2.254 dev eth0 metric 100
ip route add default metric 200 nexthop via 192.0.2.253 dev eth0 weight 2 nexthop via 198.51.100.254 dev eth0.100
ip -4 route add default via inet6 fe80::fe dev eth0 metric 300
ip route add unreachable default metric 4000000
ip -6 route add default via 2001:db8::fe dev eth0 metric 1024
ip -6 route add default from 2001:db8:100::/64 via 2001:db8:100::fe dev eth0.100
ip route add 203.0.113.0/24 via 192.0.2.250 dev eth0
ip route add unreachable 203.0.114.0/24
ip route add default via 192.0.2.252 table 77
ip route add 203.0.115.0/24 via 192.0.2.252 table 1077
modprobe siw
rdma link add siw0 type siw netdev eth0
echo "1 1" >/sys/bus/netdevsim/new_device
echo 2 >/sys/bus/netdevsim/devices/netdevsim1/sriov_numvfs
n=$(ls /sys/bus/netdevsim/devices/netdevsim1/net)
ip link set "$n" address 02:00:00:00:00:0b
ip link set "$n" up
ip link set "$n" vf 0 mac 02:11:22:33:44:00 vlan 100 qos 3
ip link set "$n" vf 0 spoofchk on
ip link set "$n" vf 0 trust on
ip link set "$n" vf 0 state disable
ip link set "$n" vf 0 min_tx_rate 10 max_tx_rate 20
ip link set "$n" vf 1 vlan 200 qos 5 proto 802.1ad
ip link set "$n" vf 1 state enable
sleep 3 # until duplicate address detection has ended
