import{c as Ht,d as Fe,e as da,g as Vt}from"./chunk-MG4JEGWF.js";import{$ as Lt,A as Ne,B as de,Ba as Gt,C as V,D as J,Da as R,Ea as P,F as rt,G as be,Ga as ve,Ha as Kt,I as Q,J as S,K as ge,L as ue,M as Le,N as G,O as Ct,P as pe,R as Pe,T as At,U as _t,V as Dt,W as qe,X as M,Y as Nt,Z as Ie,_ as lt,a as w,aa as Pt,b as y,ba as qt,c as ot,ca as It,d as Ee,da as jt,e as Ce,ea as Mt,f as Ot,g as Ae,i as _,ia as Y,j as H,ja as je,k as Rt,ka as Me,l as r,la as Ue,m as k,ma as Ut,n as oe,na as O,o as x,oa as U,p as K,pa as me,q as F,ra as We,s as Et,t as _e,ta as Wt,u as ce,ua as Ft,v as re,w as De,wa as zt,y as le,z as fe,za as Bt}from"./chunk-NWORFQYE.js";var ua=8;function pa({stores:e}){let{analysis:t,explore:s,prefs:n}=e,a=t.sets.value,o=n.zone.value,{q:l,bq:i,partial:c}=s.state.value,[u,d]=w(i);y(()=>{t.compare()},[JSON.stringify(a),l,c]);let p=t.comparison.value.value,f=p!==null&&(p.a.rows===0||p.b.rows===0);return r`<div class="comparing" data-ui="compare"><div class="subhead">${a&&r`<span><i class="set-a"></i>A: ${(h=>`${M(h.from,o)} \u2013 ${M(h.to,o).slice(11)}`)(a.a)} <b>${p&&k(p.a.rows)}</b></span>
<span><i class="set-b"></i>B: ${a.rest?"the rest of the range":i?r`the search <code>${i}</code>`:"the range before"} <b>
${p&&k(p.b.rows)}</b></span>`}<${Le} since=${t.comparison.since.value} onCancel=${t.comparison.cancel} /><span class="grow"></span>
${(s.state.value.afrom||i)&&r`<button class="text"
onClick=${()=>s.set({afrom:"",ato:"",bq:""})}>Compare with the range before</button>`}
<form class="withsearch" onSubmit=${h=>{h.preventDefault(),s.set({bq:u.trim(),afrom:"",ato:""})}}><input data-ui="compare-search" aria-label="Compare with the rows of this search" placeholder="with another search" value=${u}
onInput=${h=>d(h.currentTarget.value)} /></form></div>
<${S} latest=${t.comparison} what="Comparing" />
${p?.low&&!f&&r`<p class="wrong none">One set has fewer than 30 rows: the differences may be chance.</p>`}
${f&&r`<${ma} answer=${p} before=${!a?.rest&&!i} />`}
${p&&!f&&p.fields.length===0&&r`<${G} title="No field differs.">
<p>Drag over a part of the histogram to compare it with the rest.</p><//>`}
<div class=${`compared ${t.comparison.since.value&&p?"dim":""}`}>${p?.fields.map(h=>r`<${ha} key=${h.name} field=${h} answer=${p} onOnly=${s.only} onWithout=${s.without} />`)}
${p&&!f&&r`<${$a} answer=${p} search=${l} fields=${s.fields.value.value?.fields??[]} />`}</div></div>`}function ma({answer:e,before:t}){let s=e.b.rows>0?"A has no rows.":e.a.rows===0?"Neither set has rows.":t?"The range before has no rows.":"B has no rows.";return r`<${G} title="There is nothing to compare."><p>${s} Drag over a part of the histogram to compare it with the rest, or write another search.</p><//>`}function $a({answer:e,search:t,fields:s}){let n=e.same.filter(l=>qt(t,l).size>0),a=new Set([...e.same,...e.unique,...e.fields.map(l=>l.name)]);return[["Alike in both",e.same.filter(l=>!n.includes(l))],["The same by the search",n],["Too many different values to compare",e.unique],["Not compared",s.filter(l=>l.fill>0&&l.role!=="time"&&!l.json_paths?.length&&!a.has(l.name)).map(l=>l.name)]].map(([l,i])=>i.length>0&&r`<p class="quiet none" data-ui="not-differing">${l}: ${F(i.join(", "))}.</p>`)}function ha({field:e,answer:t,onOnly:s,onWithout:n}){let a=e.values.map(({value:c,a:u,b:d})=>({value:c,a:t.a.rows>0?u/t.a.rows:0,b:t.b.rows>0?d/t.b.rows:0})),o=e.kind==="numbers"?a:[...a].sort((c,u)=>Math.abs(u.a-u.b)-Math.abs(c.a-c.b)).slice(0,ua),l=Math.max(1e-4,...o.flatMap(({a:c,b:u})=>[c,u])),i=c=>{let{value:u}=o[c];if(u===null)return lt(e.name,"*",":").replace('"*"',"*");if(e.kind!=="numbers")return lt(e.name,String(u));let d=o[c+1]?.value;return d===void 0?`${e.name}:>=${u}`:`${e.name}:${u}..${d}`};return r`<section class="card" data-ui="compare-field" aria-label=${e.name}><h3>${e.name}
<small title="0: the same, 1: nothing in common">${e.score.toFixed(2)}</small></h3>
<ul>${o.map(({value:c,a:u,b:d},p)=>r`<li><button class="only" onClick=${()=>c===null?n(i(p)):s(i(p))}
title=${`A ${ze(u)}, B ${ze(d)}; click: only these`}>
${c===null?"no value":`${e.kind==="numbers"?"\u2265 ":""}${e.kind==="numbers"?k(Number(Number(c).toPrecision(4))):F(String(c).slice(0,60))}`}</button>
<span class="pair" aria-hidden="true"><i class="set-a" style=${{width:`${u/l*100}%`}}></i>
<i class="set-b" style=${{width:`${d/l*100}%`}}></i></span><small>${ze(u)}<br />${ze(d)}</small></li>`)}</ul></section>`}function ze(e){return`${e>0&&e<.001?"< 0.1":(e*100).toFixed(1)} %`}var Jt={count:["Most",(e,t)=>t.count-e.count],rare:["Fewest",(e,t)=>e.count-t.count],new:["New",(e,t)=>+(e.before>0)-+(t.before>0)||t.count-e.count],growing:["Growing",(e,t)=>t.count/(t.before+1)-e.count/(e.before+1)]};function fa({stores:e}){let{analysis:t,explore:s,prefs:n}=e,[a,o]=w("count"),l=s.range.value,i=s.state.value,c=s.fields.value.value?.fields??[],u=c.filter(v=>v.type==="String").map(v=>v.name),d=`${i.db}.${i.tables.join()}=`,p=n.patternFields.value.find(v=>v.startsWith(d))?.slice(d.length)??"",f=u.includes(p)?p:"",g=c.length>0&&f===""&&!c.some(v=>v.role==="message");y(()=>{l&&!g&&t.loadPatterns(f)},[l?.from,l?.to,i.q,i.partial,f,g]);let h=v=>{n.patternFields.value=[d+v,...n.patternFields.value.filter(T=>!T.startsWith(d))]};if(g)return r`<${ba} texts=${u} onChoose=${h} />`;let m=t.patterns.value.value,$=m?.rows??0,b=[...m?.patterns??[]].sort(Jt[a][1]);return r`<div class="subhead"><span class="quiet">
${m&&`${m.exact?"":"\u2248 "}${k($)} rows as ${k(m.patterns.length)} ${m.patterns.length===1?"pattern":"patterns"} of`}</span>
${m&&r`<select aria-label="Text whose patterns are shown" value=${f||m.field}
onChange=${v=>h(v.currentTarget.value)}>${[...new Set([m.field,...u])].map(v=>r`<option value=${v}>${v}</option>`)}</select>`}<${Le} since=${t.patterns.since.value} onCancel=${t.patterns.cancel} /><span class="grow"></span>
<span role="group" aria-label="Order" class="orders">
${Object.entries(Jt).map(([v,[T]])=>r`<button class="text" aria-pressed=${v===a} onClick=${()=>o(v)}>
${T}</button>`)}</span></div>
<${S} latest=${t.patterns} what="Looking for patterns" />
${m&&m.patterns.length===0&&r`<${G} title="No row has this text."><p>Choose another field, or a longer range.</p><//>`}
${m&&b.length>0&&r`<div class="patternhead" aria-hidden="true"><span class="count">rows<small>share</small></span>
<span class="when">over the range</span><span class="only">pattern</span><span class="wide before">range before</span>
<span class="wide since">first row here</span><span class="not"></span></div>`}
<ul data-ui="patterns" class=${`patterns ${t.patterns.since.value&&m?"dim":""}`}>${b.map(v=>r`<${ga} key=${v.pattern} pattern=${v} total=${$} zone=${n.zone.value} exact=${m?.exact!==!1&&!v.about}
aboutBefore=${m?.before_about}
onOnly=${()=>s.only(v.query,{view:"rows"})} onWithout=${()=>s.without(`(${v.query})`)} />`)}</ul>
${m&&m.other>0&&r`<div class="foot"><span>${k(m.other)} rows have none of these patterns</span></div>`}`}function ba({texts:e,onChoose:t}){return e.length===0?r`<${G} title="There are no texts."><p>Patterns need a field with texts, and this table has none.</p><//>`:r`<${G} title="Which text?"><p>This table has no message field. Show the patterns of</p>
<p class="acts">${e.slice(0,20).map(s=>r`<button class="button" data-ui="pattern-field" onClick=${()=>t(s)}>${s}</button> `)}</p><//>`}function ga({pattern:e,total:t,zone:s,exact:n,aboutBefore:a,onOnly:o,onWithout:l}){let i=t>0?e.count/t*100:0,c=At.find(d=>e.levels[d]>0&&_t(d))??"",u=(a?"\u2248 ":"")+(e.before===0?"new":k(e.before));return r`<li data-ui="pattern" class=${c}>
<span class="count">${n?"":"\u2248 "}${k(e.count)}<small>${i<.1?"< 0.1":i.toFixed(1)} %</small></span>
<${va} counts=${e.spark} level=${c} />
<button class="only" title=${F(e.example.text.slice(0,500))} onClick=${o}>
${e.pattern.split("\u27E8*\u27E9").map((d,p)=>r`${p>0&&r`<i>⟨*⟩</i>`}${F(d)}`)}</button>
<small title="Rows in the range before, of the same length" class=${`wide before ${e.before===0?"fresh":""}`}>${u}</small>
<small class="wide since" title="The first of these rows in this range">${M(e.first,s).slice(5,16)}</small>
<button class="text not" aria-label=${`Hide rows like ${F(e.pattern.slice(0,60))}`} title="Hide these rows" onClick=${l}>−</button></li>`}function va({counts:e,level:t}){let s=Math.max(1,...e),n=e.map((a,o)=>a>0?`M${o*3+1} 18v-${Math.max(1,a/s*16).toFixed(1)}`:"").join("");return r`<svg class="spark" width="72" height="18" viewBox="0 0 72 18" aria-hidden="true">
<path d=${n} stroke=${`var(--bar-${t||"info"})`} stroke-width="2" /></svg>`}function Be(e){let t=e.db==="public"?"":`db=${it(e.db)}&`;return`${e.origin}/v1/ingest?${t}table=${it(e.table)}&pipeline_name=${it(e.pipeline)}`}function it(e){return encodeURIComponent(e).replace(/%3A/g,":").replace(/%40/g,"@")}function we(e,t){return Be(e)+(e.pipeline===ae?`&custom_time_index=${t}`:"")}var ae="svc_identity";function Ge(e){return`${e.db==="public"?"":`--db ${e.db} `}--table ${e.table}${e.pipeline===ae?"":` --pipeline ${e.pipeline}`}`}function ct(e){return e.user?`export CORDWOOD_USER=${ce(e.user)}:"$CORDWOOD_PASSWORD"
`:""}function Yt(e){let t=[["x-svc-log-table-name",e.table]];return e.db!=="public"&&t.push(["x-svc-db-name",e.db]),e.pipeline!==ae&&t.push(["x-svc-pipeline-name",e.pipeline]),t}function $e(e){return Yt(e).map(([t,s])=>`${t}: ${Z(s)}`).join(", ")}function dt(e){return Yt(e).map(([t,s])=>`"${t}" = "${s}"`).join(", ")}function Z(e){return/^[a-z][\w.-]*$/i.test(e)&&!/^(null|true|false|yes|no|on|off|y|n)$/i.test(e)?e:JSON.stringify(e)}function Qt(e){return/^[a-z][\w.@-]*$/i.test(e)?e:`'${e.replace(/[\\']/g,"\\$&")}'`}var wa={database:/^[A-Za-z_][\w.-]{0,127}$/,table:/^[A-Za-z_:-][\w:.@#-]{0,127}$/,pipeline:/^[\w.:-]{1,128}$/};function ut({db:e,table:t,pipeline:s}){for(let[n,a]of[["database",e],["table",t],["pipeline",s]])if(!wa[n].test(a))return`\u201C${a}\u201D cannot be the name of a ${n}. Use letters, digits, and the characters _ . : -`;return""}function X(e){let t=new URL(e.origin);return{host:t.hostname,port:t.port||(t.protocol==="https:"?"443":"80"),secure:t.protocol==="https:"}}function pt(e,t){let s=e.split(`
`).find(n=>n.startsWith(`${t} = "`));return s?s.slice(t.length+4,s.lastIndexOf('"')):""}function mt(e,t,s){let{host:n,port:a,secure:o}=X(e);return`service:
  storage.path: /var/lib/fluent-bit
pipeline:
${t}
  outputs:
    - name: http
      match: '*'
      host: ${n}
      port: ${a}${o?`
      tls: on`:""}
      uri: ${we(e,"date;rfc3339").slice(e.origin.length)}
      format: json_lines
      json_date_format: ${e.pipeline===ae?"iso8601":s}
      compress: gzip
      retry_limit: no_limits
      storage.total_limit_size: 1G${e.user?`
      http_user: ${Z(e.user)}
      http_passwd: \${CORDWOOD_PASSWORD}`:""}`}function $t(...e){return t=>e.map(s=>s+Xt([`table=${t.table}`,...Zt(t)])).join(",")}function Zt(e){return[...e.db==="public"?[]:[`db=${e.db}`],...e.pipeline===ae?[]:[`pipeline=${e.pipeline}`]]}function Xt(e){return e.length===0?"":`?${e.join("&")}`}var es=[{id:"syslog",name:"syslog",file:"in a shell",note:"Set the same host and port in routers, switches and other devices.",port:{flag:"syslog-addr",text:$t("udp://0.0.0.0:5514","tcp://0.0.0.0:5514")},text:e=>`logger --server ${X(e).host} --port 5514 --tcp --octet-count --tag shop 'GET /cart 200'`},{id:"docker",name:"Docker",file:"compose.yaml",note:"A container starts only if the port answers.",port:{flag:"splunk-addr",text:e=>`0.0.0.0:8088${Xt(Zt(e))}`},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: splunk
      options:
        splunk-url: ${new URL(e.origin).protocol}//${X(e).host}:8088
        splunk-token: ${e.user?JSON.stringify(`${e.user}:\${CORDWOOD_PASSWORD}`):"none"}
        splunk-index: ${Z(e.table)}
        splunk-format: json`},{id:"gelf",name:"GELF",file:"compose.yaml of Docker",port:{flag:"gelf-addr",text:$t("udp://0.0.0.0:12201","tcp://0.0.0.0:12201")},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: gelf
      options:
        gelf-address: tcp://${X(e).host}:12201
        tag: shop`},{id:"forward",name:"Fluentd forward",file:"fluent-bit.yaml",note:"Fluentd and the libraries called fluent-logger send to the same port. Add table_by_tag=true to the address to name tables by the tags of records.",port:{flag:"forward-addr",text:$t("tcp://0.0.0.0:24224")},text:e=>`pipeline:
  outputs:
    - name: forward
      match: '*'
      host: ${X(e).host}
      port: 24224
      require_ack_response: true
      compress: gzip
      retry_limit: no_limits`},{id:"otlp-grpc",name:"OTLP by gRPC",file:"otelcol.yaml",note:"If the server has users, add the header authorization with Basic and the base64 of NAME:PASSWORD.",port:{flag:"otlp-grpc-addr",text:()=>"0.0.0.0:4317"},text:e=>`exporters:
  otlp:
    endpoint: ${X(e).host}:4317
    tls: {insecure: true}
    compression: zstd
    headers: {${$e(e)}}
    retry_on_failure: {max_elapsed_time: 0}`}];var ye=[{id:"curl",name:"curl",file:"in a shell",text:e=>`curl -X POST '${Be(e)}' \\
     ${e.user?`-u ${ce(e.user)}:"$CORDWOOD_PASSWORD" `:""}-H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"},{"level":"warn","took_ms":12.5}]'`},{id:"cordwood",name:"cordwood",file:"in a shell",note:"Sends a file, which may be compressed. If an answer is lost, it sends the batch again, and the batch is stored once.",text:e=>`${ct(e)}cordwood ingest --server ${e.origin} ${Ge(e)} app.ndjson.gz`},{id:"journald",name:"journald",file:"in a shell, or as a unit of systemd",text:e=>`${ct(e)}journalctl --output json --follow --since now |
  cordwood ingest --server ${e.origin} --forever ${Ge(e)}${e.pipeline===ae?" --custom-time-index '__REALTIME_TIMESTAMP;epoch;us'":""} -`},{id:"vector",name:"Vector",file:"vector.yaml",lacks:({table:e})=>e.includes("#")?"Vector reads % in an address as a part of a time, so it cannot send to a table with # in its name.":"",note:"From version 0.57 on, start Vector with --dangerously-allow-env-var-interpolation, so that it reads variables, or take the password from one of its secret backends.",text:e=>`sources:
  files:
    type: file
    include: [/var/log/app/*.log]
sinks:
  cordwood:
    type: http
    inputs: [files]
    uri: ${we(e,"timestamp;rfc3339")}
    method: post
    encoding: {codec: json}
    compression: zstd
    batch: {max_bytes: 2000000, timeout_secs: 1}
    request: {concurrency: 4, retry_attempts: 1000000}
    buffer: {type: disk, max_size: 1073741824}
    acknowledgements: {enabled: true}
    healthcheck: {uri: ${e.origin}/health}${e.user?`
    auth: {strategy: basic, user: ${Z(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}`},{id:"fluent-bit",name:"Fluent Bit",file:"fluent-bit.yaml",text:e=>mt(e,`  inputs:
    - {name: tail, path: /var/log/app/*.log, tag: app, db: /var/lib/fluent-bit/tail.db, storage.type: filesystem}`,"iso8601")},{id:"kubernetes",name:"Kubernetes",file:"fluent-bit.yaml of a DaemonSet of Fluent Bit",note:"Mount /var/log and /var/lib/fluent-bit of the machine, and give the service account the right to read pods.",text:e=>mt(e,`  inputs:
    - name: tail
      path: /var/log/containers/*.log
      multiline.parser: docker, cri
      tag: kube.*
      db: /var/lib/fluent-bit/tail.db
      storage.type: filesystem
  filters:
    - name: kubernetes
      match: kube.*`,"double")},{id:"fluentd",name:"Fluentd",file:"fluentd.conf",text:e=>`<filter app.**>
  @type record_transformer       # the time of the event is not in the record
  enable_ruby true
  <record>
    time \${(time.to_f * 1000).to_i}
  </record>
</filter>
<match app.**>
  @type http
  endpoint ${we(e,"time;epoch;ms")}
  content_type application/x-ndjson
  retryable_response_codes 408,429,500,502,503,504${e.user?`
  <auth>
    method basic
    username ${Qt(e.user)}
    password "#{ENV['CORDWOOD_PASSWORD']}"
  </auth>`:""}
  <format>
    @type json
  </format>
  <buffer>
    @type file
    path /var/lib/fluentd/cordwood
    chunk_limit_size 2m
    flush_interval 1s
    flush_thread_count 4
    retry_forever true
    retry_max_interval 30s
  </buffer>
</match>`},{id:"logstash",name:"Logstash",file:"a file of pipeline.conf",note:"Set queue.type: persisted in logstash.yml, so that nothing is lost when Logstash stops.",text:e=>`output {
  http {
    url => "${we(e,"@timestamp;rfc3339")}"
    http_method => "post"
    format => "json_batch"
    http_compression => true
    retry_failed => true
    retryable_codes => [408, 429, 500, 502, 503, 504]${e.user?`
    user => "${e.user}"
    password => "\${CORDWOOD_PASSWORD}"`:""}
  }
}`},{id:"syslog-ng",name:"syslog-ng",file:"syslog-ng.conf",text:e=>`source s_local { system(); internal(); };
destination d_cordwood {
  http(
    url("${Be(e)}")${e.user?`
    user("${e.user}") password("\`CORDWOOD_PASSWORD\`")`:""}
    method("POST") headers("Content-Type: application/x-ndjson")
    body("$(format-json --scope rfc5424 --key ISODATE)") delimiter("\\n")
    batch-lines(1000) batch-timeout(1000) workers(2) persist-name("cordwood")
    disk-buffer(reliable(yes) disk-buf-size(1073741824) mem-buf-size(16777216))
    retries(1000000)
  );
};
log { source(s_local); destination(d_cordwood); flags(flow-control); };`},{id:"rsyslog",name:"rsyslog",file:"rsyslog.conf",note:"If the server has users, add --user NAME:PASSWORD to the command, and let only root read the file.",text:e=>`module(load="omprog")
template(name="ndjson" type="list" option.jsonf="on") {
  property(outname="time" name="timereported" dateFormat="rfc3339" format="jsonf")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="program" name="programname" format="jsonf")
  property(outname="severity" name="syslogseverity-text" format="jsonf")
  property(outname="message" name="msg" format="jsonf")
}
action(type="omprog" template="ndjson" name="cordwood" output="/var/log/cordwood-ingest.log"
       binary="/usr/bin/cordwood ingest --server ${e.origin} --forever --format ndjson ${Ge(e)} -"
       queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
       action.resumeRetryCount="-1")`},{id:"opentelemetry",name:"OpenTelemetry Collector",file:"otelcol.yaml",text:e=>`extensions:
  file_storage: {directory: /var/lib/otelcol, create_directory: true}${e.user?`
  basicauth: {client_auth: {username: ${Z(e.user)}, password: "\${env:CORDWOOD_PASSWORD}"}}`:""}
receivers:
  filelog: {include: [/var/log/app/*.log], storage: file_storage}
exporters:
  otlphttp:
    endpoint: ${e.origin}${e.user?`
    auth: {authenticator: basicauth}`:""}
    compression: zstd
    headers: {${$e(e)}}
    sending_queue:
      storage: file_storage
      batch: {flush_timeout: 1s, min_size: 1000, max_size: 5000, sizer: items}
    retry_on_failure: {max_elapsed_time: 0}
service:
  extensions:
    - file_storage${e.user?`
    - basicauth`:""}
  pipelines:
    logs: {receivers: [filelog], exporters: [otlphttp]}`},{id:"alloy",name:"Grafana Alloy",file:"config.alloy",text:e=>`loki.write "cordwood" {
  endpoint {
    url                 = "${e.origin}/loki/api/v1/push"
    headers             = {${dt(e)}}
    max_backoff_retries = 0${e.user?`
    basic_auth {
      username = ${JSON.stringify(e.user)}
      password = sys.env("CORDWOOD_PASSWORD")
    }`:""}
  }
}
local.file_match "app" { path_targets = [{"__path__" = "/var/log/app/*.log", "app" = "shop"}] }
loki.source.file "app" {
  targets    = local.file_match.app.targets
  forward_to = [loki.write.cordwood.receiver]
}`},{id:"promtail",name:"Promtail",file:"promtail.yaml",note:"Start Promtail with -config.expand-env=true, so that it reads variables.",text:e=>`clients:
  - url: ${e.origin}/loki/api/v1/push
    backoff_config: {max_retries: 0}
    headers: {${$e(e)}}${e.user?`
    basic_auth: {username: ${Z(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}
positions: {filename: /var/lib/promtail/positions.yaml}
scrape_configs:
  - job_name: app
    static_configs:
      - targets: [localhost]
        labels: {app: shop, __path__: /var/log/app/*.log}`},{id:"filebeat",name:"Filebeat",file:"filebeat.yml",text:e=>{let{host:t,port:s,secure:n}=X(e);return`filebeat.inputs:
  - {type: filestream, id: app, paths: [/var/log/app/*.log]}
output.elasticsearch:
  hosts: ["${n?"https":"http"}://${t}:${s}/v1/elasticsearch"]${e.user?`
  username: ${Z(e.user)}
  password: "\${CORDWOOD_PASSWORD}"`:""}
  headers: {${$e(e)}, x-svc-hints: on_type_conflict=aside}
setup.ilm.enabled: false
setup.template.enabled: false`}},{id:"telegraf",name:"Telegraf",file:"telegraf.conf",note:"Telegraf keeps 10,000 records in memory while the server is down. Set metric_buffer_limit for more.",text:e=>`[[outputs.loki]]
  domain = "${e.origin}"
  endpoint = "/loki/api/v1/push"
  gzip_request = true
  http_headers = {${dt(e)}}${e.user?`
  username = ${JSON.stringify(e.user)}
  password = "\${CORDWOOD_PASSWORD}"`:""}`},...es];var ya={db:null,t:null,pipeline:null,sender:e=>ye.some(t=>t.id===e)};function ka({stores:e}){let{adding:t,place:s,signIn:n}=e,a=s.here.value.params,o=ye.find(b=>b.id===a.get("sender"))??ye[0],l=e.tables.all.value,i=a.get("db")||"public",c=Ce(()=>Sa(l,i),[e.tables.latest.value.value!==null,i]),[u,d]=[a.get("t")||c,a.get("pipeline")||"svc_identity"],p=l.find(b=>b.db===i&&b.name===u);Y(s.page.value==="add"?V(a,ya):[]),y(()=>{document.title="Add data \xB7 cordwood"},[]);let f=ut({db:i,table:u,pipeline:d});y(()=>{if(f)return;let v=setTimeout(()=>{let{all:T,latest:C}=e.tables,q=C.value.value&&!T.value.some(L=>L.db===i&&L.name===u);t.follow(i,u,{fresh:!!q})},300);return()=>{clearTimeout(v),t.stop()}},[i,u,f===""]);let g=b=>s.set("add",{sender:o.id,t:u,db:i,pipeline:d,...b},{sender:"curl",db:"public",pipeline:"svc_identity"},{replace:!0}),h=f||o.lacks?.({db:i,table:u,pipeline:d})||"",m=We(n,f?[]:[["INSERT",me(i,u)]])?.[0]!==!1,$=h?"":o.text({origin:location.origin,db:i,table:u,pipeline:d,user:n.user.value});return r`<div class="scrolled add"><div class="state"><h1>Add data</h1>
<span class="quiet" data-ui="add-effect">${p?r`The table <b class="mono">
${u}</b> exists${p.sized&&` and has ${oe(p.rows)}`}: each new field becomes a column of it.`:"The first rows create the table, with a column for each field."}</span></div>
${!m&&r`<p class="wrong none" data-ui="may-not">Your user may not store rows in ${u}: senders need another user or token.</p>`}
<div class="asked-for">
<label>Table<input data-ui="add-table" value=${u} onInput=${b=>g({t:ts(b)})} /></label>
<label>Pipeline<input list="pipelines" value=${d} onInput=${b=>g({pipeline:ts(b)})} /></label>
<${Oa} api=${e.api} chosen=${d} />
</div>
<div class="senders" role="toolbar" aria-label="Senders" onKeyDown=${xa}>${ye.map(b=>r`<button class="text" tabindex=${b===o?0:-1} aria-pressed=${b===o} data-ui=${`sender-${b.id}`}
onClick=${()=>g({sender:b.id})}>${b.name}</button>`)}</div>
${o.port&&!h&&r`<${Ta} api=${e.api} flag=${o.port.flag}
value=${o.port.text({origin:location.origin,db:i,table:u,pipeline:d,user:""})} open=${!n.user.value} />`}
<section class="snippet" aria-label=${o.name}><div class="head"><h2>${o.name}</h2><span class="quiet">${o.file}</span><span class="grow"></span>
${!h&&r`<button class="button" onClick=${()=>Q($)}>Copy</button>`}</div>
${h?r`<p class="wrong" role="alert" data-ui="wrong-name">${h}</p>`:r`<pre data-ui="snippet" tabindex="0">${$}</pre>`}
${o.note&&r`<p class="quiet none">${o.note}</p>`}
${n.user.value&&r`<p
class="quiet none">Set the variable CORDWOOD_PASSWORD to ${n.session.value?.auth==="token"?"a token that may store rows":`the password of ${n.user.value}`}.</p>`}</section>
${m&&!f&&r`<${Ra} adding=${t} to=${{db:i,table:u,pipeline:d}} />`}
${!f&&r`<${Ea} stores=${e} db=${i} table=${u} info=${p} />`}
<${Da} key=${`${i}.${u}`} stores=${e} db=${i} table=${u} />
</div>`}function xa(e){let t={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1,Home:-1/0,End:1/0}[e.key],s=[...e.currentTarget.querySelectorAll("button")],n=s.indexOf(e.target);!t||n<0||e.ctrlKey||e.metaKey||e.altKey||(e.preventDefault(),s[Math.max(0,Math.min(s.length-1,n+t))].focus())}function Ta({api:e,flag:t,value:s,open:n}){let[a,o]=w("");y(()=>{e.send({path:"/config",need:["MONITOR","CLUSTER"]}).then(async c=>o(await c.text()),()=>{})},[]);let l=pt(a,t),i=`cordwood serve --${t} ${re(s)}`;return r`<section class="snippet" aria-label="On the server" data-ui="server-port"><div class="head"><h2>On the server</h2><span class="quiet">
${l?`It listens at ${l}. The address says of which table and pipeline.`:"Start the server with this flag to use this protocol."}</span>
<span class="grow"></span>
<button class="button" onClick=${()=>Q(i)}>Copy</button></div><pre tabindex="0">${i}</pre>
${n&&r`<p class="quiet none"
data-ui="open-port">This server has no users, so everybody who reaches this port can store rows. Use the address 127.0.0.1, or a firewall.</p>`}</section>`}function Sa(e,t){let s=new Set(e.filter(n=>n.db===t).map(n=>n.name));for(let n=1;;n++){let a=n===1?"app":`app${n}`;if(!s.has(a))return a}}function ts(e){return e.currentTarget.value.trim()}function Oa({api:e,chosen:t}){let[s,n]=w(null);y(()=>{e.json({path:"/v1/pipelines"}).then(o=>n(o.pipelines.map(l=>l.name)),()=>{})},[]);let a=s!==null&&t!=="svc_identity"&&!s.includes(t);return r`<datalist id="pipelines">${["svc_identity",...new Set(s??[])].map(o=>r`<option value=${o}></option>`)}</datalist>
${a&&r`<p class="wrong" role="status"
data-ui="no-pipeline">You see no pipeline ${F(t)}: if there is none, the server refuses rows for it. <a class="text go"
href="/dashboard/pipelines?view=new">New pipeline</a></p>`}`}function Ra({adding:e,to:t}){let[s,n]=w(!1),a=Ee(null),o=i=>i?.[0]&&void e.send(i[0],t),l=e.sending.value;return r`<section class=${`drop ${s?"over":""}`} aria-label="Send a file" data-ui="drop"
onDragOver=${i=>{i.preventDefault(),n(!0)}}
onDragLeave=${()=>n(!1)}
onDrop=${i=>{i.preventDefault(),n(!1),o(i.dataTransfer?.files)}}>
<p>Or drop a file of lines or NDJSON here. <button class="text go" onClick=${()=>a.current?.click()}>Choose a file</button>
<input ref=${a} type="file" class="hidden" data-ui="file" tabindex="-1" aria-label="File" onChange=${i=>{let c=i.currentTarget;o(c.files),c.value=""}} /></p>
${l&&r`<p role="status">
${l.name}: ${x(l.sent)} of ${x(l.size)}, ${oe(l.rows)} stored${l.done?l.error?`. ${l.error}`:", done.":"\u2026"} ${!l.done&&r`<button class="text go" data-ui="cancel" onClick=${e.cancel}>Cancel</button>`}</p>
<div class="bar" style=${{"--p":`${l.size>0?l.sent/l.size*100:100}%`}}></div>
${l.refused>0&&r`<p class="wrong">
${k(l.refused)} ${l.refused===1?"record was":"records were"} refused${l.refused>l.reasons.length&&", for example"}:</p>`}
${l.reasons.map(i=>r`<p class="wrong">${F(i)}</p>`)}`}
</section>`}function Ea({stores:e,db:t,table:s,info:n}){let{adding:a,api:o,prefs:l}=e,i=pe(),[c]=w(()=>R(P)),u=a.rows.value,d=u.length>0;if(y(()=>{d&&c.run(f=>o.json({path:"/v1/explore/fields",body:{db:t,tables:[s]},signal:f}),`${t}.${s}`)},[d,t,s]),!d)return r`<section class="first" aria-live="polite" data-ui="first-row"><${Na} key=${`${t}.${s}`} db=${t} table=${s} info=${n} /></section>`;let p=c.value.value;return r`<section class="first pane" aria-live="polite" data-ui="first-row">
<div class="head"><h2>${oe(a.count.value)} arrived in ${s}</h2>
<span class="quiet">
${p&&`${p.fields.length} fields: ${p.fields.map(f=>f.name).join(", ")}`}</span><span class="grow"></span>
<a class="button main" href=${J("explore",{db:t,t:s},{db:"public"})}>Open in Explore</a></div>
<${Ie} count=${u.length} of=${u} at=${f=>u[f]} shape=${Pe(p)} columns=${[]} marks=${null} zone=${l.zone.value}
density=${l.density.value} narrow=${i} label=${`${u.length} rows, newest last`} selected="" follow onOpen=${()=>{}} /></section>`}var Ca=10,Aa=3e3,_a=6e4;function Da({stores:e,db:t,table:s}){let[n]=w(()=>R(P));y(()=>{let o=Date.now()-_a,l=()=>document.visibilityState==="visible"&&void n.run(c=>e.rejects.newest({db:t,table:s,since:o},c),`${t}.${s}`);l();let i=setInterval(l,Aa);return()=>{clearInterval(i),n.cancel()}},[t,s]);let a=n.value.value??[];return a.length===0?null:r`<section class="first" aria-live="polite" data-ui="first-reject"><div class="head"><h2>
${a.length===5?"Newest rejected records":`${k(a.length)} rejected ${a.length===1?"record":"records"}`}</h2>
<span class="grow"></span>
<a class="text" href=${J("rejects",{t:s})}>All rejects of ${s}</a></div>
<${Ht} stores=${e} rejects=${a} /></section>`}function Na({db:e,table:t,info:s}){let[n]=w(Date.now()),a=ge(1e3),o=Math.floor((a-n)/1e3);return r`<p><span class="dot waiting"></span> Waiting for ${s?"new rows":"the first row"} in <b class="mono">${t}</b>… ${o} s</p>
${s&&s.rows>0&&r`<p class="quiet"
data-ui="rows-before">It has ${oe(s.rows)} from before. <a class="text go"
href=${J("explore",{db:e,t},{db:"public"})}>Open in Explore</a></p>`}
${o>=Ca&&r`<p class="quiet"
data-ui="first-help">Nothing has arrived. If the server refuses a request, its answer says why. With <b
class="mono">skip_error=true&on_reject=store</b> in the sender's address, refused records are kept and shown here.</p>`}`}var ss={"access-max-age":"1h0m0s","user-file":"","user-provider":"","oidc-issuer":"","oidc-client-id":"","oidc-client-secret-file":"","oidc-audience":"","oidc-redirect-url":"","oidc-groups-claim":"groups","oidc-user-claim":"sub","oidc-max-age":"1h0m0s","tls-cert":"","tls-key":"","tls-client-ca":"","tls-client-user":"off","metrics-open":!0,"proxy-protocol":!1,"trusted-proxies":"","auto-create-table":!0,"client-variables":!0,"object-storage-url":"","object-storage-endpoint":"","object-storage-region":"","object-storage-path-style":!1,"object-storage-ca-file":"","object-storage-sse":"none"},He="cluster-secret",as=["rpc-tls-ca","rpc-tls-cert","rpc-tls-key","rpc-tls-server-name"],La=/-(?:file|cert|key|ca)$/;function Pa(e){let t={},s="";for(let n of e.split(`
`)){s=/^\[([\w-]+)\]/.exec(n)?.[1]??s;let[,a,o]=/^\s*([\w-]+) = (.+)$/.exec(n)??[];if(a)try{let l=JSON.parse(o);t[s?`${s}-${a}`:a]=Array.isArray(l)?l.join(","):l}catch{t[s?`${s}-${a}`:a]=o.replace(/^'(.*)'$/,"$1")}}return t}function os({nodes:e,auth:t,config:s}){let n=Pa(s),a=e.map(p=>p.rpc_addr),o=a.filter(p=>!qa(p)),l=(o.length>0?o:a).join(","),i=Object.entries(ss).filter(([p,f])=>n[p]!==void 0&&n[p]!==f).map(([p])=>ns(p,n[p])),c=n["rpc-tls-cert"]?as.filter(p=>n[p]).map(p=>ns(p,n[p])):[`--cluster-secret-file ${He}`],u=["cordwood serve --node-name NAME --data-dir /var/lib/cordwood","--rpc-addr 0.0.0.0:4001 --advertise-addr ADDRESS:4001","--http-addr 0.0.0.0:4000",...t?["--auth=on"]:[],...i,c.join(" "),`--seeds ${l}`],d=[...Object.keys(ss),...as].filter(p=>La.test(p)&&n[p]);return{command:u.join(` \\
  `),files:[...n["rpc-tls-cert"]?[]:[He],...d.map(p=>String(n[p]))],local:o.length>0?"":a.join(", ")}}function ns(e,t){return typeof t=="boolean"?`--${e}=${t}`:`--${e} ${ce(String(t))}`}function qa(e){return/^(?:127\.|localhost:|\[::1\])/.test(e)}var ne=()=>"",ke={name:"node",label:"Node",kind:"node"},rs={name:"force",label:"Also if the metadata group then survives the loss of fewer nodes",kind:"check"},Ke={name:"shard",label:"Shard",kind:"shard"},xe=[{id:"drain",name:"Drain a node\u2026",group:"nodes",says:"All replicas and leaders move to other nodes, and the node gets nothing new until it is undrained. For a restart only leaders move: the node keeps its replicas.",asks:[ke,{name:"restart",label:"For a restart: move leaders only",kind:"check"}],word:ne,request:e=>({kind:"node-drain",node:e.node,for_restart:e.restart==="yes"})},{id:"undrain",name:"Undrain a node\u2026",group:"nodes",says:"The node takes part again. A running drain ends.",asks:[ke],word:ne,request:e=>({kind:"node-undrain",node:e.node})},{id:"decommission",name:"Decommission a node\u2026",group:"nodes",says:"All replicas move away for good, and the node leaves the metadata group. If it does not answer, its replicas are rebuilt from other nodes.",asks:[ke,rs],word:e=>e.node,request:e=>({kind:"node-decommission",node:e.node,force:e.force==="yes"})},{id:"remove",name:"Forget a node\u2026",group:"nodes",says:"The cluster forgets a stopped node without replicas. It can only return with an empty data folder.",asks:[ke,rs],word:e=>e.node,request:e=>({kind:"node-remove",node:e.node,force:e.force==="yes"})},{id:"shard-add",name:"Add shards\u2026",group:"shards",says:"New shards are created on the nodes with the least data. New tables use them; existing tables stay.",asks:[{name:"count",label:"How many",kind:"number"}],word:ne,request:e=>({kind:"shard-add",count:Number(e.count)})},{id:"shard-move",name:"Move a replica\u2026",group:"shards",says:"A replica is copied to the other node, catches up, and then takes the place of the old one. Queries and writes continue meanwhile.",asks:[Ke,{name:"from",label:"From",kind:"node"},{name:"to",label:"To",kind:"node"}],word:ne,request:e=>({kind:"shard-move",shard:Number(e.shard),from:e.from,to:e.to})},{id:"replicas",name:"Change replicas\u2026",group:"shards",says:"The shard gets this number of replicas, each on a different node.",asks:[Ke,{name:"replicas",label:"Replicas",kind:"number"}],word:ne,request:e=>({kind:"replica-change",shard:Number(e.shard),replicas:Number(e.replicas)})},{id:"rebuild",name:"Rebuild a replica\u2026",group:"shards",says:"The replica is discarded and rebuilt from the others.",asks:[Ke,ke],word:ne,request:e=>({kind:"replica-rebuild",shard:Number(e.shard),node:e.node})},{id:"shard-remove",name:"Remove a shard\u2026",group:"shards",says:"Its tables move to other shards with their rows, two at a time; then the shard is removed.",asks:[Ke],word:e=>e.shard?`shard ${e.shard}`:"",request:e=>({kind:"shard-remove",shard:Number(e.shard)})},{id:"table-move",name:"Move a table\u2026",group:"shards",says:"The other shards take the writes of the table. Existing rows stay, unless they are moved too.",asks:[{name:"table",label:"Table",kind:"table"},{name:"shards",label:"To the shards",kind:"shards",note:"like 2, 3"},{name:"rows",label:"Move the rows too",kind:"check"}],word:ne,request:e=>({kind:"table-move",table:e.table,to_shards:Ia(e.shards),with_rows:e.rows==="yes"})},{id:"partition",name:"Partition a table\u2026",group:"shards",says:"The table is written to this number of shards.",asks:[{name:"table",label:"Table",kind:"table"},{name:"partitions",label:"Shards",kind:"number"},{name:"rows",label:"Distribute existing rows too",kind:"check"}],word:ne,request:e=>({kind:"table-partition",table:e.table,partitions:Number(e.partitions),with_rows:e.rows==="yes"})}];function Ia(e){return e.split(/[\s,]+/).filter(t=>t!=="").map(Number)}var ja={"node-add":()=>({name:"Add a node\u2026",act:"add-node",given:{}}),"node-undrain":({node:e=""})=>({name:`Undrain ${e}\u2026`,act:"undrain",given:{node:e}}),"node-decommission":({node:e=""})=>({name:`Decommission ${e}\u2026`,act:"decommission",given:{node:e}}),"node-remove":({node:e=""})=>({name:`Forget ${e}\u2026`,act:"remove",given:{node:e}}),"shard-move":({node:e="",shard:t})=>({name:"Move a replica\u2026",act:"shard-move",given:{from:e,shard:t?String(t):""}}),"replica-rebuild":({node:e="",shard:t})=>({name:"Rebuild the replica\u2026",act:"rebuild",given:{node:e,shard:String(t??"")}}),rebalance:()=>({name:"Rebalance\u2026",act:"rebalance",given:{}}),"rebalance-resume":()=>({name:"Resume rebalancing\u2026",act:"rebalance",given:{}}),cancel:({operation:e})=>({name:`Cancel operation ${e}`,act:"cancel",given:{operation:String(e??"")}})};function Ma({actions:e=[]}){return e.flatMap(t=>ja[t.kind]?.(t)??[])}function ls(e){let t=new Set,s=n=>{let a=JSON.stringify([n.act,n.given]);return!t.has(a)&&t.add(a)};return e.map(n=>({problem:n,offers:Ma(n).filter(s)}))}function is({id:e,given:t,state:s,stores:n,onClose:a}){let{operations:o,health:l,tables:i}=n,c=xe.find($=>$.id===e),[u,d]=w({count:"1",replicas:String(s.replication),partitions:"2",...t});ot(()=>o.clear(),[]);let p=o.asks.value,f=o.start.value.value,g=p||c.word(u);async function h(){if(o.start.since.value>0)return;let $=c.request(u);await o.begin(p?{...$,confirm:p}:$)&&(le(o.start.value.value?.message||"The operation has started."),a(),await l.load())}let m=$=>b=>d({...u,[$]:b});return r`<${Ne} key=${p} title=${c.name.replace("\u2026","")} word=${g} action="Begin" busy=${o.start.since.value>0}
onYes=${h} onClose=${a}>
<p>${c.says}</p>
${c.asks.map($=>r`<label class=${$.kind==="check"?"check":""}>${$.kind!=="check"&&$.label}
<${Wa} asked=${$} value=${u[$.name]??""} state=${s} tables=${i.all.value} onValue=${m($.name)} />
${$.kind==="check"&&$.label}</label>`)}
<${Ua} values=${u} state=${s} tables=${i.all.value} />
${p&&f?.message&&r`<p class="wrong" role="alert">${f.message}</p>`}
<${S} latest=${o.start} what="Beginning it" inForm /><//>`}function Ua({values:e,state:t,tables:s}){let n=t.nodes.find(i=>i.name===(e.shard?"":e.node)),a=t.shards.find(i=>String(i.id)===e.shard),o=s.find(i=>`${i.db}.${i.name}`===e.table),l=a?`Shard ${a.id} has rows of ${x(a.bytes)}.`:n?`${n.name} has ${n.replicas} ${n.replicas===1?"replica":"replicas"} with ${x(n.bytes)}, and leads ${n.leads} ${n.leads===1?"shard":"shards"}.`:o?`${e.table} has ${x(o.bytes)}.`:"";return l&&r`<p class="quiet">${l}</p>`}function Wa({asked:e,value:t,state:s,tables:n,onValue:a}){let o=c=>a(c.currentTarget.value),l=`act-${e.name}`;if(e.kind==="check")return r`<input type="checkbox" data-ui=${l} checked=${t==="yes"} onChange=${()=>a(t==="yes"?"":"yes")} />`;if(e.kind==="number")return r`<input type="number" data-ui=${l} required min="1" max="64" value=${t} onInput=${o} />`;if(e.kind==="shards")return r`<input required data-ui=${l} placeholder=${e.note} pattern="[0-9]+([ ,]+[0-9]+)*" value=${t} onInput=${o} />`;let i={node:()=>s.nodes.map(c=>c.name),shard:()=>s.shards.map(c=>String(c.id)),table:()=>n.filter(c=>c.db!=="svc_private").map(c=>`${c.db}.${c.name}`)}[e.kind]();return r`<select required data-ui=${l} value=${t} onChange=${o}><option value="">Choose</option>
${i.map(c=>r`<option value=${c}>${c}</option>`)}</select>`}function cs({state:e,stores:t,onClose:s}){let[n]=w(()=>new Set(e.nodes.map(f=>f.id))),[a]=w(()=>R(P));y(()=>{a.run(async f=>(await t.api.send({path:"/config",signal:f,need:["MONITOR","CLUSTER"]})).text())},[]);let o=e.nodes.filter(f=>!n.has(f.id)),l=e.nodes.filter(f=>n.has(f.id)),i=t.signIn.session.value?.auth!=="off",{command:c,files:u,local:d}=os({nodes:l,auth:i,config:a.value.value??""}),p=a.value.value!==null;return r`<${fe} title="Add a node" onClose=${s}><div class="asks">
<p>Start cordwood on another machine. Replace NAME with its own name, and ADDRESS with the address at which the other nodes reach it.
The machine needs ${u.map((f,g)=>r`${g>0&&(g<u.length-1?", ":" and ")}
${f===He&&"the secret of the cluster as "}<code>${f}</code>`)}.</p>
${d&&r`<p class="wrong"
data-ui="seeds-local">Other machines cannot reach ${d}. Start the new node on this machine with other ports, or restart these nodes with an address of the network first (--rpc-addr).</p>`}
${!p&&a.error.value&&r`<p class="wrong"
data-ui="settings-unknown">The settings of this node are not known: ${a.error.value.message} Start the new node with the same flags for users, TLS and object storage as these nodes.</p>`}
<pre class="asked" data-ui="add-node-command">${c}</pre>
${i&&r`<p>Users have their rights on the new node only with <code>--auth=on</code>: without it, everybody who reaches its port may do everything.</p>`}
<p role="status" data-ui="joined">
${o.length===0?r`<span class="dot waiting"></span> Waiting for it to join…`:`${o.map(f=>f.name).join(", ")} joined.`}</p>
<p class="acts"><button class="button main" disabled=${!p&&!a.error.value} onClick=${()=>Q(c)}>Copy</button>
<button class="button" onClick=${s}>Close</button></p></div><//>`}function ds({stores:e,onClose:t}){let{operations:s,health:n}=e;ot(()=>{s.clear(),s.loadPlan()},[]);let a=s.plan.value.value;async function o(l){s.start.since.value>0||await s.begin({kind:l})&&(le(s.start.value.value?.message||"Started."),await n.load(),t())}return r`<${fe} title="Rebalance" onClose=${t}><div class="asks">
<${S} latest=${s.plan} what="Asking for the plan" />
${!a&&!s.plan.error.value&&r`<p class="quiet" role="status">Asking what would move…</p>`}
${a&&a.moves.length===0&&r`<p>Nothing would move: ${(a.even||"the nodes are even").replace(/\.$/,"")}.</p>`}
${a&&a.moves.length>0&&r`<p>${a.moves.length} ${a.moves.length===1?"replica":"replicas"} would move, ${x(a.moves.reduce((l,i)=>l+i.bytes,0))}.</p>
<div class="wide-table"><table><thead><tr><th>shard</th><th>from</th><th>to</th><th class="r">bytes</th><th>why</th></tr></thead><tbody>${a.moves.map(l=>r`<tr><td>${l.shard}</td><td>${l.from}</td><td>${l.to}</td><td class="r">${x(l.bytes)}</td><td>${l.reason}</td></tr>`)}</tbody></table></div>`}
${a?.blocked.map(l=>r`<p class="wrong">${l}</p>`)}
<${S} latest=${s.start} what="Beginning it" />
<p class="acts"><button class="button main" data-ui="confirm" disabled=${!a||a.moves.length===0} onClick=${()=>o("rebalance")}>Begin</button>
${a&&r`<button class="button" data-ui="pause" onClick=${()=>o(a.paused?"rebalance-resume":"rebalance-pause")}>
${a.paused?"Resume it":"Pause it"}</button>`}
<button class="button" onClick=${t}>Close</button></p></div><//>`}function us({health:e,failure_tolerance:t,limited_by:s}){return t<0?s?`Too much has failed: ${s} does not work.`:"Something does not work.":e==="starting"?"The first shards are being created.":t===0?`If one ${e==="ok"?"":"more "}node fails, ${s} stops.`:`Any ${t===1?"one node":`${t} nodes`} can fail: nothing stops, and no row is lost.`}function ps(e){return De(e.replace(/^nothing(?=[:,])/,"nothing needs to be done"))}function ms(e,t,s){let n=e.requested_by&&`requested by ${e.requested_by==="cluster"?"the cluster":e.requested_by}`;if(e.state!=="running"){let o=e.ended??e.updated,l=Date.parse(o)-Date.parse(e.created);return[`${e.state} ${Fa(o,t,s)}`,l>=1e3&&`took ${K(l)}`,e.state==="done"&&e.kind==="shard-move"?"":e.reason,n].filter(Boolean).join(" \xB7 ")}let a=e.total_bytes>0&&`${x(e.done_bytes)} of ${x(e.total_bytes)}`;return[`step ${e.step}`,a,e.eta_seconds&&`${K(e.eta_seconds*1e3)} left`,e.reason,n].filter(Boolean).join(" \xB7 ")}function Fa(e,t,s){let n=Math.max(0,t-Date.parse(e));return n<1e3?"just now":n<864e5?`${K(n)} ago`:`at ${M(e,s)} (${s})`}var za=["starting","stopping","draining","drained","moving","catching up","retiring","electing"];function ht(e){return e==="up"||e==="ok"?"ok":za.includes(e)?"changes":"bad"}function $s(e){let t=e.to_shards?.length?` to shards ${e.to_shards.join(", ")}`:"";switch(e.kind){case"shard-move":return`Move shard ${e.shard}${e.from?` from ${e.from}`:""}${e.to?` to ${e.to}`:""}`;case"replica-change":return`Give shard ${e.shard} ${e.replicas} replicas`;case"replica-rebuild":return`Rebuild the replica of shard ${e.shard}${e.node?` on ${e.node}`:""}`;case"table-move":return`Move table ${e.table}${t}`;case"table-partition":return`Partition table ${e.table}${t}`;case"shard-add":return"Add shards";case"shard-remove":return`Remove shard ${e.shard}`;case"rebalance":return"Rebalance";case"node-drain":case"node-undrain":case"node-decommission":case"node-remove":return`${{"node-drain":"Drain","node-undrain":"Undrain","node-decommission":"Decommission","node-remove":"Forget"}[e.kind]} ${e.subject.replace(/^node /,"")}`;default:return`${e.kind.replaceAll("-"," ")} ${e.subject}`.replace(/^./,s=>s.toUpperCase())}}function hs(e){if(e.length<2)return e;let[t,...s]=e,n=0;for(;n<t.length&&s.every(o=>o[n]===t[n]);)n++;let a=Math.max(t.lastIndexOf("-",n-1),t.lastIndexOf(".",n-1))+1;return a<4?e:e.map(o=>`\u2026${o.slice(a)}`)}function fs({operations:e,stores:t,may:s}){let{cancelling:n}=t.operations,a=ge(1e3),o=t.prefs.zone.value;return r`<${S} latest=${n} what="Cancelling" />
${e.length===0&&r`<p class="quiet none">No operation is running or stored.</p>`}
<ul class="ops">${e.map(l=>{let i=l.state==="running";return r`<li data-ui="operation" data-state=${l.state} key=${l.id}><h3>${$s(l)}
${i&&s&&r`<${Ba} operation=${l} stores=${t} />`}</h3>
${i&&l.total_bytes>0&&r`<div class="bar" style=${{"--p":`${l.done_bytes/l.total_bytes*100}%`}}></div>`}<p>
${ms(l,a,o)}</p></li>`})}</ul>`}function Ba({operation:e,stores:t}){return e.cancel?r`<span class="text">being cancelled</span>`:r`<button class="text" data-ui="cancel" onClick=${()=>t.operations.cancel(e.id).then(()=>t.health.load())}>Cancel</button>`}function bs({stores:e}){let t=Math.floor((ge(1e3)-e.health.answered.value)/1e3);return r`<span class="quiet" data-ui="refreshed">refreshed ${t<1?"just now":`${t} s ago`}</span>`}function gs({nodes:e}){return r`<div class="wide-table" tabindex="0" role="region" aria-label="Nodes"><table><thead><tr><th>node</th><th>state</th>
<th class="opt">roles</th><th class="opt">metadata</th><th>disk used</th><th class="r opt">disk size</th><th class="r">replicas</th>
<th class="r">leads</th><th class="r opt" title="The rows of its replicas, and their logs">rows and logs</th><th class="opt">version</th></tr></thead>
<tbody>${e.map(t=>r`<${Ha} key=${t.id} node=${t} />`)}</tbody></table></div>`}var vs=["down","silent","stopped"],Ve="unknown",Ga=85;function Ha({node:e}){let t=e.disk_capacity>0?e.disk_used/e.disk_capacity*100:0,s=vs.includes(e.state)&&` for ${K(e.silent_seconds*1e3)}`;return r`<tr data-ui="node"><td>${e.name}</td>
<td><span class=${ht(e.state)}>${e.state}</span>${s}</td>
<td class="opt">${e.roles.join(" ")}</td><td class="opt">${e.meta}</td>
<td>${e.disk_capacity>0&&r`<span class=${`disk ${t>Ga?"full":""}`} style=${{"--p":`${t.toFixed(0)}%`}}></span>
<span title=${`${x(e.disk_used)} of ${x(e.disk_capacity)}`}>${t.toFixed(0)} %</span>`}</td>
<td class="r opt">${e.disk_capacity>0&&x(e.disk_capacity)}</td><td class="r">${k(e.replicas)}</td><td class="r">
${e.state!==Ve&&k(e.leads)}</td>
<td class="r opt">${e.state!==Ve&&x(e.bytes??0)}</td><td class="opt">${e.version}</td></tr>`}function ws({state:e,onDo:t}){let s=e.nodes.filter(a=>a.roles.includes("shard")),n=hs(s.map(a=>a.name));return r`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>
${s.map((a,o)=>r`<th title=${a.name}>${n[o]}</th>`)}<th class="r opt">lag</th>
<th class="r opt" title="The rows of its largest replica, without the log">size of rows</th><th>state</th></tr></thead>
<tbody>${e.shards.map(a=>r`<tr key=${a.id}><td>shard ${a.id}</td>${s.map(o=>{let[l,i,c]=Va(a,o),u=`shard ${a.id} on ${o.name}: ${i}`;return r`<td class=${c} data-ui="shard-cell" title=${u}>
${t&&l!=="\xB7"?r`<${Ka} letter=${l} says=${u} shard=${String(a.id)} node=${o.name} onDo=${t} />`:l}</td>`})}<td class="r opt">${a.state!==Ve&&k(a.lag)}</td><td class="r opt">${a.state!==Ve&&x(a.bytes)}</td>
<td><span class=${a.state==="ok"?"":ht(a.state)}>${a.state}</span></td></tr>`)}</tbody></table></div>`}function Ka({letter:e,says:t,shard:s,node:n,onDo:a}){return r`<${de} button=${r`<span aria-hidden="true">${e}</span><span class="hidden">${t}</span>`} label=${t} class="cell">${o=>{let l=(i,c)=>{o(),a(i,c)};return r`<p class="quiet">${t}</p><button class="choice" data-ui="cell-move"
onClick=${()=>l("shard-move",{shard:s,from:n})}>Move to another node…</button>
<button class="choice" data-ui="cell-rebuild" onClick=${()=>l("rebuild",{shard:s,node:n})}>Rebuild…</button>`}}<//>`}function Va(e,{name:t,state:s}){return(e.replicas.includes(t)||e.learners.includes(t))&&vs.includes(s)?["!",`has a replica, and does not answer: the node is ${s}`,"x"]:e.unready.includes(t)?["c","has a replica that is not up to date yet","c"]:e.leader===t?["L","leads","L"]:e.learners.includes(t)?["c","is catching up","c"]:e.replicas.includes(t)?["r","has a replica","p"]:["\xB7","has none",""]}function Ja({stores:e}){let{health:t,signIn:s,operations:n,place:a}=e;Y(a.page.value==="cluster"?V(a.here.value.params,{}):[]),y(()=>{document.title="Cluster \xB7 cordwood";let g=()=>{document.visibilityState==="visible"&&(t.load(),n.loadList())};n.loadList();let h=setInterval(g,2e3);return()=>clearInterval(h)},[t]);let[o,l]=w({id:"",given:{}}),i=t.value.value;if(!i)return r`<h1 class="hidden">Cluster</h1><${ue} since=${t.since.value} onCancel=${t.cancel} />
<${S} latest=${t} what="Asking for the state of the cluster" />`;let c=i.health==="ok",u=t.error.value!==null,d=s.canManage.value,p=((g,h={})=>{g==="cancel"?n.cancel(Number(h.operation)).then(()=>t.load()):l({id:g,given:h})}),f=()=>l({id:"",given:{}});return r`<div class="scrolled">
<div class="state"><h1>
${u?"The state of the cluster is not known":c?"The cluster is healthy":r`The cluster is <i class=${i.health}>${i.health}</i>`}</h1>
<span class="quiet" data-ui=${u?"known-since":"tolerance"}>
${u?`What follows was so at ${qe(t.answered.value,e.prefs.zone.value).time} (${e.prefs.zone.value}).`:us(i)}</span></div>
<${S} latest=${t} what="Asking for the state of the cluster" />
${ls(i.problems).map(({problem:g,offers:h})=>r`<${Ya} problem=${g} offers=${d?h:[]} onDo=${p} />`)}
<div class="cols"><section class="pane" aria-label="Nodes and shards">
<h2 class="head">Nodes<span class="grow"></span>
${d&&r`<${ys} group="nodes" first=${{"add-node":"Add a node\u2026",drain:"Drain a node\u2026"}} onDo=${p} />`}</h2>
<${gs} nodes=${i.nodes} />
<h2 class="head">Shards<span class="grow"></span><span class="quiet wide">L leads, r replica, c catching up, ! does not answer</span>
${d&&r`<${ys} group="shards" first=${{"shard-move":"Move a replica\u2026",rebalance:"Rebalance\u2026"}} onDo=${p} />`}</h2>
<${ws} state=${i} onDo=${d?p:null} /></section>
<section class="pane" aria-label="Operations"><h2 class="head">Operations<span class="grow"></span><${bs} stores=${e} /></h2>
<${fs} operations=${n.list.value.value??i.operations} stores=${e} may=${d} /></section>
</div></div>
${o.id==="add-node"&&r`<${cs} state=${i} stores=${e} onClose=${f} />`}
${o.id==="rebalance"&&r`<${ds} stores=${e} onClose=${f} />`}
${xe.some(g=>g.id===o.id)&&r`<${is} id=${o.id} given=${o.given} state=${i} stores=${e} onClose=${f} />`}`}function Ya({problem:e,offers:t,onDo:s}){return r`<div class=${`problem ${e.severity??""}`}><p><b>${De(e.text)}</b> ${ps(e.advice)}</p>
${t.length>0&&r`<div class="offers">
${t.map(({name:n,act:a,given:o})=>r`<button class="button" data-ui=${`mend-${a}`} onClick=${()=>s(a,o)}>${n}</button>`)}</div>`}</div>`}function ys({group:e,first:t,onDo:s}){let n=xe.filter(a=>a.group===e&&!(a.id in t)).map(({id:a,name:o})=>[a,o]);return r`${Object.entries(t).map(([a,o])=>r`<button class="text wide" data-ui=${a} onClick=${()=>s(a)}>${o}</button>`)}
<${de} button=${r`<span>More</span><span class="caret"></span>`} label=${`What can be done to ${e}`} ui=${`${e}-acts`} class="text change">${a=>[...Object.entries(t),...n].map(([o,l])=>r`<button class=${`choice ${o in t?"narrow-only":""}`} data-ui=${`do-${o}`} onClick=${()=>{a(),s(o)}}>${l}</button>`)}<//>`}var Je=(e,t)=>t.map(s=>[s,`${s}, ${e}`]),ks=[...Je("on tables",["SELECT","INSERT, CREATE","ALTER","DROP","DELETE"]),...Je("on pipelines",["USE","READ","WRITE"]),...Je("on the cluster",["MONITOR","OPERATE","BACKUP","RESTORE","ACCESS","AUDIT"]),...Je("on any of these",["ALL"])],xs=[["ingest","send rows"],["query","read rows"]],Ts=["30d","90d","365d","NEVER"],Ss={createUser:{name:"New user\u2026",says:"A new user can sign in, and has no rights. The password has at least 12 bytes.",asks:[["name","Name","text"],["password","Password","password"]],statement:(e,{name:t,password:s})=>`CREATE USER ${O(t)} PASSWORD ${U(s)}`},password:{name:"New password\u2026",says:"Open sessions and connections of the user end. The password has at least 12 bytes.",asks:[["password","New password","password"]],statement:(e,{password:t})=>`ALTER USER ${O(e)} PASSWORD ${U(t)}`},ownPassword:{name:"Change my password\u2026",says:"Your other sessions and connections end. The password has at least 12 bytes.",asks:[["old","Current password","password"],["password","New password","password"]],statement:(e,{old:t,password:s})=>`ALTER USER CURRENT_USER PASSWORD ${U(s)} OLD ${U(t)}`},disable:{name:"Disable\u2026",says:"The user cannot sign in until somebody enables the user again. What the user has open ends.",asks:[],statement:e=>`ALTER USER ${O(e)} DISABLED`},enable:{name:"Enable\u2026",says:"The user can sign in again.",asks:[],statement:e=>`ALTER USER ${O(e)} ENABLED`},dropUser:{name:"Drop the user\u2026",says:"What the user has open ends, and so do the tokens that have the rights of the user. This cannot be undone.",asks:[],statement:e=>`DROP USER ${O(e)}`,typed:!0},createRole:{name:"New role\u2026",says:"A role is a named set of grants and of other roles.",asks:[["name","Name","text"]],statement:(e,{name:t})=>`CREATE ROLE ${O(t)}`},dropRole:{name:"Drop the role\u2026",says:"Users lose the rights that they have by this role only.",asks:[],statement:e=>`DROP ROLE ${O(e)}`,typed:!0},grant:{name:"Grant\u2026",says:"On a table: app.logs, app.logs_* or app.*. On a pipeline: PIPELINE nginx. On the cluster: CLUSTER.",asks:[["privileges","Privileges","privileges"],["on","On","target"]],statement:(e,t)=>`GRANT ${t.privileges} ON ${t.on} TO ${O(e)}`},grantRole:{name:"Grant a role\u2026",says:"The user gets all rights of the role.",asks:[["role","Role","role"]],statement:(e,{role:t})=>`GRANT ${O(t)} TO ${O(e)}`},revoke:{name:"Revoke\u2026",says:"Open requests, tails and connections that need this right end.",asks:[],statement:e=>ft(e)},createToken:{name:"New token\u2026",says:"A token to ingest can only send rows. A token to query can only read. The target is a table or a pattern: app.logs, app.*.",asks:[["name","Name","text"],["scope","May","scope"],["on","Table, or a pattern","target"],["expires","Expires in","lifetime"],["note","Note","text?"]],statement:(e,{name:t,scope:s,on:n,expires:a,note:o})=>`CREATE TOKEN ${O(t)} FOR ${s==="query"?"QUERY ON":"INGEST INTO"} ${n} EXPIRES ${a==="NEVER"?"NEVER":`IN ${U(a)}`}${o?` NOTE ${U(o)}`:""}`},rotate:{name:"Rotate\u2026",says:"The token gets a new secret. The old one remains valid for 24 hours.",asks:[],statement:e=>`ALTER TOKEN ${O(e)} ROTATE`},dropToken:{name:"Drop the token\u2026",says:"Programs that use the token are refused at once. This cannot be undone.",asks:[],statement:e=>`DROP TOKEN ${O(e)}`,typed:!0}},Os={pattern:"(PIPELINE |DATABASE |TABLE )?[A-Za-z0-9_.*$@:\\-]+",title:"write a name such as app.logs, or a pattern such as app.*"};function ft(e){let t=/^GRANT (.+) TO ("(?:[^"]|"")*"|[^\s"]+)( WITH GRANT OPTION)?$/s.exec(e);return t?`REVOKE ${t[1]} FROM ${t[2]}`:""}function Rs(e,t){let s={...t};for(let[n,,a]of e.asks)(a==="password"||s[n]===""&&!a.endsWith("?"))&&(s[n]="\u2026");return s}function Es(e,{tables:t,pipelines:s}){let[,n,a]=/^(PIPELINE |DATABASE |TABLE )?(.*)$/.exec(e)??[];if(!a||a.includes("*")||e==="CLUSTER")return"";if(n==="PIPELINE ")return s.includes(a)?"":`There is no pipeline ${a} yet.`;if(n==="DATABASE ")return t.some(i=>i.db===a)?"":`There is no table in a database ${a} yet.`;let[o,l]=a.includes(".")?[a.slice(0,a.indexOf(".")),a.slice(a.indexOf(".")+1)]:["public",a];return t.some(i=>i.db===o&&i.name===l)?"":`There is no table ${o}.${l} yet.`}function Cs(e,{scope:t,on:s},n){let a=s.replace(/^(TABLE|DATABASE) /,"").split("."),[o,l]=s.startsWith("DATABASE ")?[a[0],"*"]:a.length>1?a:["public",a[0]],[i,c]=[o.replace("*","public"),l.replace("*","app")],u=`-H ${re(`Authorization: Bearer ${n}`)}`;if(t==="query"){let p=l.includes("*")?"SHOW TABLES":`SELECT * FROM ${O(c)} LIMIT 10`;return`curl ${re(`${e}/v1/sql?${new URLSearchParams({db:i,format:"ndjson"})}`)} ${u} \\
     --data-urlencode ${re(`sql=${p}`)}`}let d=new URLSearchParams({db:i,table:c,pipeline_name:"svc_identity"});return`curl ${re(`${e}/v1/ingest?${d}`)} ${u} \\
     -H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"}]'`}var he=200,As=["ACCESS","CLUSTER"];function Ds(e,t){let s=R(t),n=R(t),a=R(t),o=R(t),l=R(t,{once:!0});async function i(c,u,d,p){let{columns:f,rows:g}=await e.sql(c,{signal:u,need:d,secret:p});return g.map(h=>Object.fromEntries(f.map((m,$)=>[m.name,String(h[$]??"")])))}return{users:s,roles:n,tokens:a,grants:o,action:l,loadUsers:c=>s.run(u=>i(`SHOW USERS${_s(c)} LIMIT ${he}`,u,As)),loadRoles:()=>n.run(c=>i("SHOW ROLES LIMIT 1000",c,As)),loadTokens:c=>a.run(u=>i(`SHOW TOKENS${_s(c)} LIMIT ${he}`,u)),loadGrants:c=>o.run(async u=>(await e.sql(`SHOW GRANTS FOR ${O(c)}`,{signal:u})).rows.map(d=>String(d[0])),c),async change(c,u){return await l.run(d=>i(c,d,void 0,u)),l.error.value?null:l.value.value}}}function _s(e){let t=e.trim();return t?` LIKE ${U(`%${t}%`)}`:""}function Ye({name:e,says:t,asks:s,choices:n,patterns:a={},proposals:o={},remark:l,initial:i={},word:c="",statement:u,latest:d,onRun:p,onClose:f,children:g}){let[h,m]=w(()=>({...Object.fromEntries(s.map(([q,,L])=>[q,L==="column"?"":[n[L]?.[0]??""].flat()[0]])),...i})),$=e.replace("\u2026",""),b=l?.(h),v=typeof c=="string"?c:c(h),T=C=>{d.error.value=null,m({...h,...C})};return r`<${Ne} title=${$} word=${v} action=${v?$:"Run it"} busy=${d.since.value>0}
onYes=${()=>d.since.value>0||p(h)}
onClose=${()=>{d.error.value=null,f()}}>
<p>${t}</p>
${g}
${s.map(([C,q,L])=>r`<label>${q}<${Qa} name=${C} label=${q} kind=${L} choices=${n[L]} pattern=${a[L]}
proposals=${o[L]} value=${h[C]} onValue=${W=>T({[C]:W})} /></label>`)}
${b&&r`<p class="quiet" role="status" data-ui="form-remark">${b}</p>`}
<pre class="asked">${u(h)}</pre>
<${S} latest=${d} what="The statement" inForm /><//>`}function Qa({name:e,label:t,kind:s,choices:n,pattern:a,proposals:o,value:l,onValue:i}){let[c,u]=w(!1),d=Ot(),p=f=>i(f.currentTarget.value);if(!n){let[f,g]=s==="password"?[c?"text":"password","new-password"]:["text","off"],h=r`<input required=${s!=="text?"} type=${f} data-ui=${`ask-${e}`} aria-label=${s==="password"?t:void 0}
autocomplete=${g} spellcheck=${!1} pattern=${a?.pattern} title=${a?.title} list=${o?d:void 0}
value=${l} onInput=${p} />
${o&&r`<datalist id=${d}>${o.map(m=>r`<option value=${m}></option>`)}</datalist>`}`;return s!=="password"?h:r`<span class="password">${h}<button type="button" class="text" data-ui=${`show-${e}`} aria-pressed=${c}
onClick=${()=>u(!c)}>${c?"Hide":"Show"}</button></span>`}return r`<select required data-ui=${`ask-${e}`} value=${l} onChange=${p}>${s==="column"&&r`<option value="">Choose</option>`}
${n.map(f=>[f].flat()).map(([f,g=f])=>r`<option value=${f}>${g}</option>`)}</select>`}function Ns({stores:e}){let{access:t}=e,[s,n]=w(null),[a,o]=w(""),[l,i]=w(""),[c,u]=w(null);y(()=>{d()},[a]),y(()=>{t.loadRoles()},[]);async function d(){await Promise.all([t.loadUsers(a),t.loadTokens(a)])}function p($){i($===l?"":$),$!==l&&t.loadGrants($)}async function f($,b,v){let T=await t.change($,$!==b);T&&(n(null),T[0]?.Token?u({of:T[0],values:v}):le(`Done: ${b}`),await Promise.all([d(),t.loadRoles(),l&&t.loadGrants(l)]))}let g=($,b="")=>n({id:$,target:b}),h=e.signIn.session.value?.auth==="token",m=t.users.error.value?.status!==403;return r`<section aria-label="Users and tokens"><h2 class="head">${m?"Users and tokens":"My tokens"}<span class="grow"></span>
${!h&&r`<button class="text" data-ui="own-password" onClick=${()=>g("ownPassword")}>Change my password…</button>`}
<input class="find" type="search" placeholder="Find a name" aria-label="Find a name" value=${a}
onInput=${$=>o($.currentTarget.value)} /></h2>
${m&&r`<${Za} access=${t} onAct=${g} onGrants=${p} grantsOf=${l} />`}
${m&&r`<${Xa} access=${t} onAct=${g} onGrants=${p} grantsOf=${l} />`}
<${tn} access=${t} onAct=${g} />
${s&&r`<${sn} key=${`${s.id} ${s.target}`} id=${s.id} target=${s.target} stores=${e} onRun=${f}
onClose=${()=>n(null)} />`}
${c&&r`<${an} ...${c} onClose=${()=>u(null)} />`}</section>`}function Za({access:e,onAct:t,onGrants:s,grantsOf:n}){let a=e.users.value.value??[];return r`<${Qe} title="Users" latest=${e.users}><button class="text" data-ui="new-user" onClick=${()=>t("createUser")}>New user…</button><//>
${a.length>0&&r`<div class="wide-table" tabindex="0" role="region" aria-label="Users"><table class="principals"><thead><tr><th>name</th><th>roles</th>
<th>state</th><th>valid until, UTC</th><td></td></tr></thead>
<tbody>${a.map(o=>{let l=!o.State.startsWith("disabled");return r`<tr key=${o.User} data-ui="user" data-name=${o.User}><td><b>${o.User}</b></td><td>${o.Roles}</td><td>${o.State}</td><td>
${bt(o["Valid until"])}</td>
<td class="r"><${ee} what="Grants" of=${o.User} expanded=${n===o.User} onDo=${()=>s(o.User)} />
<${ee} what="Password…" of=${o.User} onDo=${()=>t("password",o.User)} />
<${ee} what=${l?"Disable\u2026":"Enable\u2026"} of=${o.User} onDo=${()=>t(l?"disable":"enable",o.User)} />
<${ee} what="Drop…" of=${o.User} onDo=${()=>t("dropUser",o.User)} /></td></tr>
${n===o.User&&r`<${Ls} of=${o.User} span=${5} access=${e} onAct=${t} />`}`})}</tbody></table></div>`}`}function Xa({access:e,onAct:t,onGrants:s,grantsOf:n}){let a=e.roles.value.value??[];return r`<${Qe} title="Roles" latest=${e.roles}><button class="text" data-ui="new-role" onClick=${()=>t("createRole")}>New role…</button><//>
${a.length>0&&r`<div class="wide-table" tabindex="0" role="region" aria-label="Roles"><table class="principals"><thead><tr><th>name</th><th>roles</th>
<th>state</th><td></td><td></td></tr></thead>
<tbody>${a.map(o=>{let l=o.State==="built in";return r`<tr key=${o.Role} data-ui="role" data-name=${o.Role}><td><b>${o.Role}</b></td><td>${o.Roles}</td><td>${o.State}</td><td></td>
<td class="r"><${ee} what="Grants" of=${o.Role} expanded=${n===o.Role} onDo=${()=>s(o.Role)} />
${!l&&r`<${ee} what="Drop…" of=${o.Role} onDo=${()=>t("dropRole",o.Role)} />`}</td></tr>
${n===o.Role&&r`<${Ls} of=${o.Role} span=${5} access=${e} onAct=${t} />`}`})}</tbody></table></div>`}`}function ee({what:e,of:t,expanded:s,onDo:n}){return r`<button class="text" aria-label=${`${e} ${t}`} aria-expanded=${s} onClick=${n}>${e}</button>`}function Ls({of:e,span:t,access:s,onAct:n}){return r`<tr class="grants-of"><td colspan=${t}><${en} of=${e} access=${s} onAct=${n} /></td></tr>`}function en({of:e,access:t,onAct:s}){let n=t.grants.value.value;return r`<${Qe} title=${`Grants of ${e}`} latest=${t.grants}><button class="text" data-ui="grant" onClick=${()=>s("grant",e)}>Grant…</button>
<button class="text" data-ui="grant-role" onClick=${()=>s("grantRole",e)}>Grant a role…</button><//>
${n&&r`<div class="wide-table" tabindex="0" role="region" aria-label=${`Grants of ${e}`}><table><tbody>${n.map(a=>r`<tr key=${a} data-ui="granted"><td class="mono">${a}</td><td class="r">
${ft(a)&&r`<${ee} what="Revoke…" of=${a} onDo=${()=>s("revoke",a)} />`}</td></tr>`)}</tbody></table></div>`}
${n?.length===0&&r`<p class="quiet none">${e} has no grants.</p>`}`}function tn({access:e,onAct:t}){let s=e.tokens.value.value??[];return r`<${Qe} title="Tokens" latest=${e.tokens}><button class="text" data-ui="new-token" onClick=${()=>t("createToken")}>New token…</button><//>
${s.length>0&&r`<div class="wide-table" tabindex="0" role="region" aria-label="Tokens"><table><thead><tr><th>name</th><th>scope</th><th>state</th>
<th>expires, UTC</th><th>last used, UTC</th><th>note</th><td></td></tr></thead>
<tbody>${s.map(n=>r`<tr key=${n.Id} data-ui="token" data-name=${n.Token}><td><b>${n.Token}</b><small>cw_${n.Id}</small></td><td class="mono">${n.Scope}</td><td>${n.State}</td>
<td>${bt(n.Expires)||"never"}</td><td title=${n["Last address"]}>${bt(n["Last used"])}</td><td>${n.Note}</td>
<td class="r"><${ee} what="Rotate…" of=${n.Token} onDo=${()=>t("rotate",n.Token)} />
<${ee} what="Drop…" of=${n.Token} onDo=${()=>t("dropToken",n.Token)} /></td></tr>`)}</tbody></table></div>`}
${e.tokens.value.value&&s.length===0&&r`<p class="quiet none">There is no token.</p>`}`}function Qe({title:e,latest:t,children:s}){let n=t.value.value?.length??0;return r`<h3 class="head">${e}<span class="quiet">${n>=he&&`the first ${he}`}</span><span class="grow"></span>${s}</h3>
<${S} latest=${t} what=${`Asking for ${e.toLowerCase()}`} />`}function sn({id:e,target:t,stores:s,onRun:n,onClose:a}){let{access:o,tables:l,pipelineList:i}=s,c=Ss[e];y(()=>{i.load()},[]);let u={tables:l.all.value,pipelines:(i.list.value.value??[]).map(b=>b.name)},d=u.tables.filter(b=>b.db!=="svc_private").map(b=>`${b.db}.${b.name}`),p=e==="grant"?[...u.pipelines.map(b=>`PIPELINE ${b}`),"CLUSTER"]:[],f=["public.*",...d.slice(0,he),...p],g=l.latest.value.value!==null&&i.list.value.value!==null,h=b=>g&&b.on?Es(b.on,u):"",m=(o.roles.value.value??[]).map(b=>b.Role).filter(b=>b!==t),$=b=>c.statement(t,Rs(c,b));return r`<${Ye} name=${c.name} says=${c.says} asks=${c.asks} word=${c.typed?t:""}
choices=${{privileges:ks,role:m,scope:xs,lifetime:Ts}} patterns=${{target:Os}}
proposals=${{target:f}} remark=${h} initial=${{expires:"90d"}}
statement=${$} latest=${o.action}
onRun=${b=>n(c.statement(t,b),$(b),b)} onClose=${a} />`}function an({of:e,values:t,onClose:s}){let n=t.on?Cs(location.origin,t,e.Token):"",a=Ee(!1),[o,l]=w(!1),i=()=>a.current?s():l(!0);async function c(u){a.current=await Q(u)||a.current,l(o&&!a.current)}return r`<${fe} title=${`Token ${e.Name}`} onClose=${i} stays>
<div onCopy=${()=>a.current=!0}><p>Copy the token now: the server stores only its hash and cannot show it again.</p>
<pre class="asked" data-ui="secret">${e.Token}</pre>
${n&&r`<p>A command that ${t.scope==="query"?"reads":"sends a row"} with it:</p>
<pre class="asked" data-ui="token-command" tabindex="0">${n}</pre>`}
<p class="acts"><button class="button main" data-ui="secret-copy" onClick=${()=>c(e.Token)}>Copy</button>
${n&&r`<button class="button" onClick=${()=>c(n)}>Copy the command</button>`}
<button class="button" data-ui="secret-done" onClick=${i}>Done</button></p>
${o&&r`<p class="wrong" role="alert" data-ui="secret-asks">The token is not copied yet. <button class="text go" data-ui="secret-close"
onClick=${s}>Close without it</button></p>`}</div><//>`}var bt=e=>e.slice(0,16).replace("T"," ");function nn({stores:e}){let{prefs:t,signIn:s,place:n}=e;Y(n.page.value==="settings"?V(n.here.value.params,{}):[]),y(()=>{document.title="Settings \xB7 cordwood"},[]);let a=s.session.value;return r`<div class="scrolled settings"><div class="state"><h1>Settings</h1>
<span class="quiet">The choices in the first part are stored in this browser, and searches on the server.</span></div>
<section aria-label="This browser"><h2 class="head">This browser</h2>
<${Ze} label="Theme" value=${t.theme} choices=${{system:"System",light:"Light",dark:"Dark"}} />
<${Ze} label="Times" value=${t.zone} choices=${cn()} ui="zone" />
<${Ze} label="Height of rows" value=${t.density} choices=${{dense:"Dense, 20 px",normal:"Normal, 24 px",comfortable:"Comfortable, 28 px"}} />
<${Ze} label="Single keys" value=${t.singleKeys} choices=${{on:"On",off:"Off: only keys with Ctrl"}} />
<label class="setting"><span>First table</span><span><select data-ui="first-table" value=${t.table.value}
onChange=${o=>t.table.value=o.currentTarget.value}>
<option value="">the one with the most rows</option>
${e.tables.all.value.filter(o=>o.db==="public").map(o=>r`<option value=${o.name}>${o.name}</option>`)}</select> <span
class="quiet">the table that you opened last, unless you choose another</span></span></label>
<${rn} stores=${e} />
<div class="setting"><span>Earlier searches</span><span>
${k(t.history.value.length)} in this browser ${t.history.value.length>0&&r`<button class="text go"
onClick=${()=>t.history.value=[]}>Forget them</button>`}</span></div>
<${on} stores=${e} />
</section>
<section aria-label="User"><h2 class="head">User</h2>
<div class="setting"><span>Signed in as</span><span>${a?.auth==="off"?"This server has no users: everybody may do everything.":r`<b>${a?.user??""}</b>${a?.auth==="token"&&", by a token"}`}</span></div>
${a&&a.auth!=="off"&&r`<${ln} api=${e.api} user=${a.user} />`}
${s.user.value&&r`<div class="setting"><span></span>
<button class="button" data-ui="sign-out" onClick=${()=>s.leave().then(()=>location.reload())}>Sign out</button></div>`}
</section>
${a&&a.auth!=="off"&&r`<${Ns} stores=${e} />`}
<section aria-label="Server"><h2 class="head">Server</h2>
<div class="setting"><span>Node</span><span>${a?.server?.name}</span></div>
<div class="setting"><span>Version</span><span>${a?.server?.version}</span></div>
<${dn} api=${e.api} />
</section></div>`}function on({stores:e}){let{saved:t,signIn:s,place:n}=e,a=s.user.value;return y(()=>{t.load()},[a]),r`<div class="setting" data-ui="saved-searches"><span>Saved searches</span><div class="saved-items">
<${S} latest=${t.list} what="Asking for what is saved" /><${S} latest=${t.changing} what="Changing what is saved" />
${t.list.value.value?.length===0?r`<span
class="quiet">None; Saved on the page Explore keeps a search under a name.</span>`:r`<${zt} saved=${t} user=${a}
onOpen=${n.go} />`}</div></div>`}function rn({stores:e}){let{prefs:t,tables:s,api:n}=e,a=s.all.value.filter(d=>d.db==="public"),[o,l]=w(t.table.value),[i]=w(()=>R(P)),c=Me(t,"public",[o]),u=a.some(d=>d.name===o);return y(()=>{if(!u)return;let d={db:"public",tables:[o],...Ue(c)};i.run(p=>n.json({path:"/v1/explore/fields",body:d,signal:p}))},[o,u,c.message,c.level]),r`<label class="setting"><span>Columns of</span><select data-ui="roles-table" value=${u?o:""}
onChange=${d=>l(d.currentTarget.value)}>
<option value="">a table</option>${a.map(d=>r`<option value=${d.name}>${d.name}</option>`)}</select></label>
<${S} latest=${i} what="Asking for the columns" />
${u&&i.value.value&&r`<${Ut} fields=${i.value.value.fields} roles=${c}
onRole=${(d,p)=>t.roles.set(je("public",[o]),{...c,[d]:p})} />`}`}function ln({api:e,user:t}){let[s]=w(()=>R(P));y(()=>{s.run(a=>e.json({path:"/v1/access/whoami",signal:a}),t)},[t]);let n=s.value.value;return r`<${S} latest=${s} what="Asking for your rights" />
${n&&r`<div class="setting" data-ui="own-grants"><span>May</span><span>${n.grants.length===0?"nothing yet: an administrator can grant rights.":r`<ul class="mono">${n.grants.map(a=>r`<li>${a}</li>`)}</ul>`}${n.ingest_only&&r`<p class="quiet">This token only sends rows.</p>`}</span></div>`}`}function cn(){return Object.fromEntries([...new Set([Dt,"UTC"])].map(e=>[e,e==="UTC"?"UTC":`${e}, the browser's`]))}function Ze({label:e,value:t,choices:s,ui:n}){return r`<div class="setting" role="radiogroup" aria-label=${e} data-ui=${n}><span>${e}</span><span class="choices-in-line">${Object.entries(s).map(([a,o])=>r`<label><input type="radio" name=${e} value=${a} checked=${t.value===a} onChange=${()=>t.value=a} />${o}</label>`)}</span></div>`}function dn({api:e}){let[t]=w(()=>R(P));return y(()=>{t.run(async s=>(await e.send({path:"/config",signal:s,need:["MONITOR","CLUSTER"]})).text())},[]),r`<div class="setting"><span>Started with</span><${S} latest=${t} what="Asking for the settings" />${t.value.value&&r`<pre tabindex="0" aria-label="Settings of the server">${t.value.value}</pre>`}</div>`}var un=2e3,gt=100;function qs(e,t){let s=R(t),n=R(t,{once:!0});return{latest:s,action:n,load:(a,o)=>s.run(async l=>{let i={db:a,tables:[o]},c=[],u=(h,m)=>m.catch($=>{if($.status!==403)throw $;return c.some(b=>b.error.message===$.message)||c.push({what:h,error:$}),null}),[d,p,f,g]=await Promise.all([u("The columns are",e.json({path:"/v1/explore/fields",body:i,signal:l})),u("The newest values are",e.json({path:"/v1/explore/rows",body:{...i,limit:gt,max_value_bytes:100},signal:l})),u("The statement is",e.sql(`SHOW CREATE TABLE ${O(o)}`,{signal:l,db:a})),u("The segments are",e.sql(pn(a,o),{signal:l,need:["MONITOR","CLUSTER"]}))]);if(!d&&!f&&!g)throw c[0].error;return{ddl:f&&String(f.rows[0]?.[1]??""),fields:d&&d.fields,lastRow:d&&d.last_row,rows:p?.rows??[],segments:g&&g.rows.map(mn),refused:c}},JSON.stringify([a,o])),async countOlder(a,o,l,i,c){let u=new Date(Math.max(0,t.now()-i)).toISOString(),d=await e.sql(`SELECT count(*) FROM ${O(o)} WHERE ${O(l)} < ${U(u)}`,{signal:c,db:a});return Number(d.rows[0][0])},async change(a,o){return await n.run(l=>e.sql(o,{signal:l,db:a})),n.error.value===null}}}function pn(e,t){return`SELECT file, shard_id, rows, bytes, min_time, max_time FROM svc_private.segments WHERE table_schema = ${U(e)} AND table_name = ${U(t)} ORDER BY min_time DESC LIMIT ${un}`}function mn([e,t,s,n,a,o]){return{file:String(e),shard:Number(t),rows:Number(s),bytes:Number(n),from:Ps(a),to:Ps(o)}}function Ps(e){let t=Number(e);return Number.isFinite(t)?new Date(t/1e3).toISOString():String(e)}var Is={ns:1e-6,us:.001,ms:1,s:1e3,m:6e4,h:36e5,d:864e5,w:6048e5,M:2630016e3,y:315576e5},js={sec:"s",second:"s",min:"m",minute:"m",hr:"h",hour:"h",day:"d",wk:"w",week:"w",month:"M",yr:"y",year:"y"};function Xe(e){let t=e.trim();if(/^(|0|forever)$/i.test(t))return 1/0;if(/^instant$/i.test(t))return 0;if(!/^(\d+\s*[A-Za-z]+\s*)+$/.test(t))return NaN;let s=0;for(let[,n,a]of t.matchAll(/(\d+)\s*([A-Za-z]+)/g)){let o=Is[a]??Is[js[a]??js[a.replace(/s$/,"")]];if(o===void 0)return NaN;s+=Number(n)*o}return s||1/0}var $n=["STRING","BIGINT","DOUBLE","BOOLEAN","TIMESTAMP(3)","TIMESTAMP(9)","JSON","BINARY"],Ms=["ALTER","DROP","DELETE"],hn=["INVERTED","SKIPPING","FULLTEXT"],Us=[{id:"ttl",needs:["ALTER"],name:"Set how long rows are kept\u2026",says:"Older rows are removed at once, and from then on when they reach that age. Write 12h, 7d, 3M, 1y, or forever.",asks:[["ttl","Keep rows for","text"]],loses:({ttl:e},t)=>Xe(e)<Xe(t?.ttl||"forever"),statement:(e,{ttl:t})=>`ALTER TABLE ${e} SET 'ttl' = ${U(t)}`},{id:"column",needs:["ALTER"],name:"Add a column\u2026",says:"Existing rows have null in it.",asks:[["column","Name","text"],["type","Type","type"]],statement:(e,{column:t,type:s})=>`ALTER TABLE ${e} ADD COLUMN ${O(t)} ${s}`},{id:"index",needs:["ALTER"],name:"Add an index\u2026",says:"It applies to new rows. INVERTED is for values that repeat, SKIPPING for ids, FULLTEXT for words in texts.",asks:[["column","Column","column"],["index","Index","index"]],statement:(e,{column:t,index:s})=>`ALTER TABLE ${e} MODIFY COLUMN ${O(t)} SET ${s} INDEX`},{id:"rename",needs:["ALTER","DROP"],name:"Rename\u2026",says:"Senders that use the old name create a new table.",asks:[["to","New name","text"]],statement:(e,{to:t})=>`ALTER TABLE ${e} RENAME TO ${O(t)}`,gone:!0},{id:"truncate",needs:["DELETE"],name:"Remove all rows\u2026",says:"All rows are removed; columns and options stay. This cannot be undone.",asks:[],statement:e=>`TRUNCATE TABLE ${e}`,typed:!0},{id:"drop",needs:["DROP"],name:"Drop\u2026",says:"The table and all of its rows are removed. This cannot be undone.",asks:[],statement:e=>`DROP TABLE ${e}`,typed:!0,gone:!0}];function Ws(e,t,s){let n=We(e,Ms.map(a=>[a,me(t,s)]));return Us.filter(({needs:a})=>a.every(o=>n?.[Ms.indexOf(o)]))}function Fs({id:e,db:t,name:s,info:n,fields:a,stores:o,onClose:l}){let{table:i,tables:c,place:u}=o,d=Us.find(m=>m.id===e),[p,f]=w({ttl:"",count:0}),g=m=>p.ttl===m.ttl?p.count:null;async function h(m){let $=d.statement(O(s),m);await i.change(t,$)&&(le(`Done: ${$}`),l(),await c.load(),d.gone?u.set("tables",e==="rename"?{db:t,t:m.to}:{db:t},{db:"public"}):await i.load(t,s))}return r`<${Ye} name=${d.name} says=${d.says} asks=${d.asks}
word=${m=>d.typed||d.loses?.(m,n)&&g(m)!==0?s:""}
choices=${{type:$n,index:hn,column:a.map(m=>m.name)}} initial=${{ttl:n?.ttl||"forever",to:s}}
remark=${m=>d.loses?.(m,n)&&r`<${fn} table=${i} db=${t} name=${s}
time=${a.find($=>$.role==="time")?.name} ttl=${m.ttl} count=${g(m)}
onCount=${$=>f({ttl:m.ttl,count:$})} />`}
statement=${m=>d.statement(O(s),m)} latest=${i.action} onRun=${h} onClose=${l}>
${d.typed&&n&&r`<p><b>
${t}.${s}</b> ${n.sized?`has ${oe(n.rows)}, ${x(n.bytes)}`:"may have rows that you may not see"}.</p>`}<//>`}function fn({table:e,db:t,name:s,time:n,ttl:a,count:o,onCount:l}){return y(()=>{if(!n)return;let i=new AbortController,c=setTimeout(()=>{e.countOlder(t,s,n,Xe(a),i.signal).then(l,()=>{})},300);return()=>{clearTimeout(c),i.abort()}},[t,s,n,a]),o===0?r`<span data-ui="expiring">No row is that old now.</span>`:r`<span data-ui="expiring"><b>
${o===null?"All older rows":o===1?"1 row":`${k(o)} rows`}</b> of ${t}.${s} ${o===1?"is":"are"} removed. This cannot be undone.</span>`}function zs({db:e,name:t,info:s,stores:n,onClose:a}){let{table:o,prefs:l,signIn:i}=n,[c,u]=w("");y(()=>{o.load(e,t)},[e,t]);let d=o.latest.value.value,p=l.zone.value,f=e==="svc_private"||e==="information_schema",g=Ws(i,e,t);return r`<section class="pane detail tabledetail" aria-label=${`Table ${e}.${t}`} data-ui="detail">
<div class="head"><h2 class="mono">${e}.${t}</h2><span class="grow"></span>
${!f&&g.length>0&&r`<${de} button=${r`<span>Change</span><span class="caret"></span>`} label="Change the table" ui="table-actions" class="text change">${h=>g.map(({id:m,name:$})=>r`<button class="choice" data-ui=${`do-${m}`} onClick=${()=>{h(),u(m)}}>${$}</button>`)}<//>`}
<button class="text" aria-label="Close" onClick=${a}>✕</button></div>
<${ue} since=${o.latest.since.value} onCancel=${o.latest.cancel} />
<div class="scrolled">
${s&&r`<${gn} info=${s} lastRow=${d?.fields?d.lastRow??"none":""} zone=${p} />`}
<p class="acts"><a class="text go" href=${J("explore",{db:e,t},{db:"public"})}>Explore</a>
<a class="text go" href=${J("tail",{db:e,t},{db:"public"})}>Tail</a>
<a class="text go" href=${J("sql",{db:e,q:`SELECT * FROM ${O(t)} LIMIT 100`},{db:"public"})}>SQL</a></p>
<${S} latest=${o.latest} what="Asking for the table" />
${d&&r`${d.refused.map(({what:h,error:m})=>r`<p class="quiet none" data-ui="refused">${h} not shown: ${m.message}</p>`)}
${d.fields&&r`<${vn} fields=${d.fields} rows=${d.rows} />`}
${d.segments&&r`<${wn} segments=${d.segments} zone=${p} />`}
${d.ddl!==null&&r`<${bn} ddl=${d.ddl} />`}`}
</div>
${c&&r`<${Fs} id=${c} db=${e} name=${t} info=${s} fields=${d?.fields??[]} stores=${n} onClose=${()=>u("")} />`}
</section>`}function bn({ddl:e}){return r`<h3 class="head">Statement<span class="grow"></span><button class="text" onClick=${()=>Q(e)}>Copy</button></h3>
<pre class="ddl" data-ui="ddl">${Gt(e).map(t=>t.kind==="key"?r`<b>${t.text}</b>`:t.text)}</pre>`}function gn({info:e,lastRow:t,zone:s}){let n=[["rows",e.sized&&k(e.rows)],["bytes",e.sized&&`${x(e.bytes)}${e.rows>0?`, ${x(ve(e))} a row`:""}`],["in object storage",e.bucket>0&&`${x(e.bucket)}${e.waiting>0?`, ${x(e.waiting)} not yet`:""}`],["kept for",_e(e.ttl)],["shards",e.shards.join(", ")],["newest row",/^\d/.test(t)?`${M(t,s)}, ${K(Math.max(0,Date.now()-new Date(t).getTime()))} ago`:t],["created",e.created.slice(0,10)],["options",e.options]];return r`<dl>${n.map(([a,o])=>o&&r`<div><dt>${a}</dt><dd>${o}</dd></div>`)}</dl>`}function vn({fields:e,rows:t}){return r`<h3 class="head">Columns<span class="quiet">${k(e.length)}; of the newest 1,000 rows: how many have a value</span></h3>
<div class="wide-table" tabindex="0" role="region" aria-label="Columns of the table"><table><thead><tr><th>name</th><th>type</th><th>index</th>
<th class="r">filled</th><th>newest values</th></tr></thead>
<tbody>${e.map(s=>{let n=[...new Set(t.map(a=>Et(a.v[s.name])).filter(Boolean))].slice(0,3);return r`<tr><td>${s.name}${s.role&&r`<small>${s.role}</small>`}</td><td>${s.type}</td><td>${s.index??""}</td>
<td class="r">${Math.round(s.fill*100)} %</td><td class="samples" title=${n.join(", ").slice(0,500)}>
${n.length===0&&s.fill>0?r`<span
class="quiet">none in the newest ${gt} rows</span>`:F(n.join(", ").slice(0,120))}</td></tr>`})}</tbody></table></div>`}function wn({segments:e,zone:t}){if(e.length===0)return r`<h3 class="head">Segments</h3><p class="quiet none">All rows are still in memory and in the log: no segment is written yet.</p>`;let s=Math.min(...e.map(i=>Date.parse(i.from))),n=Math.max(...e.map(i=>Date.parse(i.to))),a=Math.max(...e.map(i=>i.rows)),o=i=>n>s?(Date.parse(i)-s)/(n-s)*100:0,l=e.reduce((i,c)=>i+c.bytes,0);return r`<h3 class="head">Segments<span class="quiet">${k(e.length)}, ${x(l)}</span></h3>
<div class="segments" role="img"
aria-label=${`Segments from ${M(e[e.length-1].from,t)} to ${M(e[0].to,t)}`}>${e.map(i=>r`<i key=${i.file} title=${`${k(i.rows)} rows, ${x(i.bytes)}, ${M(i.from,t)} \u2013 ${M(i.to,t)}`}
style=${{left:`${o(i.from)}%`,width:`max(2px, ${o(i.to)-o(i.from)}%)`,height:`${Math.max(4,i.rows/a*40)}px`}}></i>`)}</div>
<p class="segmentaxis"><span>${M(new Date(s).toISOString(),t)}</span><span>${M(new Date(n).toISOString(),t)}</span></p>`}var et=[["name","table",e=>`${e.db}.${e.name}`,"name"],["rows","rows",e=>e.rows,"r"],["bytes","bytes",e=>e.bytes,"r"],["last","newest row",null,"r opt"],["each","bytes a row",e=>e.rows>0?ve(e):0,"r opt"],["ttl","kept for",e=>e.ttl,"opt"],["shards","shards",e=>e.shards[0]??0,"r opt"],["created","created",e=>e.created,"opt"]],yn=500;function kn({stores:e}){let{tables:t,place:s}=e,n=s.here.value.params,[a,o]=[n.get("db")??"public",n.get("t")??""];Y(s.page.value==="tables"?V(n,{db:null,t:null}):[]);let[l,i]=w(""),[c,u]=w({by:"name",down:!1});y(()=>{t.load()},[t]),y(()=>{document.title=o?`${a}.${o} \xB7 cordwood`:"Tables \xB7 cordwood"},[a,o]),y(()=>e.keys.bind({"/":["find a table",()=>document.getElementById("table-find")?.focus()],Escape:["close the table",()=>d("","")]}),[e]);function d($,b){s.set("tables",{db:$,t:b},{db:"public"})}let p=t.all.value,f=c.by==="last"?e.lastRows.times.value:null,g=Ce(()=>Sn(p,l,c,e.lastRows),[p,l,c,f]),h=o?p.find($=>$.db===a&&$.name===o):void 0,m=t.latest.value.value!==null;return r`<h1 class="hidden">Tables</h1>
<${ue} since=${m?0:t.latest.since.value} onCancel=${t.latest.cancel} />
<div class=${`panes two ${o?"":"no-detail"}`}>
<section class="pane list" aria-label="Tables">
<div class="head"><input class="find" id="table-find" type="search" placeholder="Find a table" aria-label="Find a table" value=${l}
onInput=${$=>i($.currentTarget.value)} />
<span class="quiet">${m&&Tn(p,g)}</span>${p.length>0&&r`<${xn} sort=${c} onSort=${u} />`}</div>
<${S} latest=${t.latest} what="Asking for the tables" />
${m&&p.length===0&&r`<${Wt} signIn=${e.signIn} />`}
${p.length>0&&r`<${On} shown=${g} sort=${c} onSort=${u} selected=${h} onOpen=${d} lastRows=${e.lastRows} />`}
</section>
${o&&(h||!m?r`<${zs} key=${`${a}.${o}`} db=${a} name=${o} info=${h} stores=${e} onClose=${()=>d("","")} />`:r`<section class="pane detail" aria-label="Table"><${G} title=${`There is no table ${a}.${o}.`}>
<p class="acts"><button class="button" onClick=${()=>d("","")}>Close</button></p><//></section>`)}
</div>`}function xn({sort:e,onSort:t}){return r`<span class="grow small-only"></span><label class="by small-only">by <select aria-label="What the tables are sorted by" data-ui="sort" value=${e.by}
onChange=${s=>{let n=s.currentTarget.value;t({by:n,down:et.some(([a,,,o])=>a===n&&o.startsWith("r"))})}}>${et.map(([s,n])=>r`<option value=${s}>${n}</option>`)}</select></label>`}function Tn(e,t){let s=t.reduce((a,o)=>a+o.bytes,0);return`${e.length===t.length?`${k(e.length)} ${e.length===1?"table":"tables"}`:`${k(t.length)} of ${k(e.length)} tables`}, ${x(s)}`}function Sn(e,t,s,n){let a=t.trim().toLowerCase(),o=u=>Date.parse(n.of(u)||"")||0,l=s.by==="last"?o:et.find(([u])=>u===s.by)?.[2]??(u=>`${u.db}.${u.name}`),i=new Intl.Collator("en",{numeric:!0}),c=e.filter(u=>`${u.db}.${u.name}`.toLowerCase().includes(a));return c.sort((u,d)=>{let[p,f]=[l(u),l(d)];return typeof p=="number"&&typeof f=="number"?p-f:i.compare(String(p),String(f))}),s.down?c.reverse():c}function On({shown:e,sort:t,onSort:s,selected:n,onOpen:a,lastRows:o}){let l=pe();y(()=>o.stop,[o]);let i=et.map(([u,d,,p])=>{let f=t.by===u;return r`<button class=${p} aria-pressed=${f} title=${`Sort by ${d}`}
onClick=${()=>s({by:u,down:f?!t.down:p.startsWith("r")})}>${d}${f&&(t.down?" \u2193":" \u2191")}</button>`});function c(u){let d=e[u],p=d===n;return r`<div class=${`row tablerow ${p?"on":""}`} role="row" aria-rowindex=${u+1} aria-selected=${p} key=${`${d.db}.${d.name}`}
data-ui="table-row" data-name=${d.name} onClick=${()=>a(d.db,d.name)}>
<span class="name" role="gridcell"><a href=${`/dashboard/tables?${new URLSearchParams({db:d.db,t:d.name})}`}><b>${d.db}.</b>${d.name}</a></span>
<span class="r" role="gridcell">${d.sized&&k(d.rows)}</span><span class="r" role="gridcell">${d.sized&&x(d.bytes)}</span>
<span class="r opt" role="gridcell" data-ui="last-row" title=${o.of(d)}>${Rn(o.of(d))}</span>
<span class="r opt" role="gridcell">${d.rows>0?x(ve(d)):""}</span><span class="opt" role="gridcell">${_e(d.ttl)}</span>
<span class="r opt" role="gridcell">${d.shards.join(", ")}</span><span class="opt" role="gridcell">${d.created.slice(0,10)}</span></div>`}return r`<div class="tablehead tablerow">${i}</div>
<div class="rows"><${Nt} count=${e.length} height=${l?44:28} label=${`${e.length} tables`} row=${c}
onSee=${(u,d)=>{o.see(t.by==="last"?e.slice(0,yn):l?[]:e.slice(u,d))}}
focus=${n?e.indexOf(n):-1} resetKey=${`${t.by}${t.down}`} /></div>`}function Rn(e){return e===void 0?"":e?`${K(Math.max(0,Date.now()-new Date(e).getTime()))} ago`:"none"}function vt(){return{items:[],sizes:[],size:0,dropped:0}}function wt(e,t,s,n,a){e.items.push(...t),e.sizes.push(...s),e.size+=s.reduce((i,c)=>i+c,0);let o=Math.max(0,e.items.length-n),l=e.size;for(let i=0;i<o;i++)l-=e.sizes[i];for(;l>a&&o<e.items.length-1;)l-=e.sizes[o++];o!==0&&(e.items.splice(0,o),e.sizes.splice(0,o),e.size=l,e.dropped+=o)}var Hs=[1e3,1e4],Bs=16<<20,En=100,Cn=3e3,An=4001,Gs=2e3;function Ks({api:e,place:t,prefs:s,clock:n,session:a}){let o=H(()=>t.here.value.params),l=H(()=>({db:o.value.get("db")??"public",table:o.value.get("t")??s.table.value,q:o.value.get("q")??"",wrap:o.value.get("wrap")==="1"})),i=H(()=>{let E=Me(s,l.value.db,[l.value.table]);return{message:o.value.get("message")||E.message,level:o.value.get("level")||E.level}}),c=H(()=>s.columns.get(je(l.value.db,[l.value.table]))??[]),u=_(""),d=()=>JSON.stringify([t.page.value,l.value.db,l.value.table,l.value.q]),p=Kt(a,d,"cordwood.tail");Rt(()=>p.keep("draft",u.value));let f="",g=R(n),h=vt(),m=_({count:0,dropped:0,still:!1}),$=_(null),b=_(!1),v=_(""),T=_(!1),C=_(null),q=_([]),L=_(0),W=_(1e4),te=new Set,z=null,tt=H(()=>Pe(g.value.value)),Te=()=>h.dropped+h.items.length,se=null,kt=()=>$.value&&se?se:h.items,oa=H(()=>t.page.value!=="tail"?[]:V(o.value,{db:null,t:null,q:null,wrap:null,message:null,level:null})),st=()=>g.error.value?.code===An,ra=()=>!b.value&&!st()&&(v.value!==""||g.error.value!==null);async function la(E=""){St();let A=new AbortController;z=A;let{db:D,table:I,q:B}=l.value,j=Ue(i.value);if(Ae(()=>{d()!==f&&(u.value=p.take("draft")??B),f=d(),v.value="",C.value=null,q.value=[],b.value=!1}),!I)return;let N=()=>g.run(ie=>e.json({path:"/v1/explore/fields",body:{db:D,tables:[I],...j},signal:ie}));for(await N();z===A&&st();)await n.wait(Gs,A.signal).catch(()=>{}),E=`${2*Gs/1e3}s`,z===A&&await N();if(!(z!==A||g.error.value))for(let ie=0;z===A;){let Re=await ia(A,_n({db:D,table:I,search:B,since:E,...j}));if(z!==A||!Re||(v.value=Re.text,T.value=Re.again,b.value&&(ie=0),b.value=!1,!Re.again))return;E=`${Math.ceil((n.now()-xt)/1e3)+1}s`,await n.wait(Math.min(1e3*2**ie++,1e4),A.signal).catch(()=>{})}}let xt=n.now();async function ia(E,A){try{let D=await e.send({path:A,signal:E.signal});b.value=!0,v.value="";for await(let{values:I,sizes:B}of Fe(D.body)){if(z!==E)return null;xt=n.now();let j=I[I.length-1];if(j&&"code"in j&&"error"in j&&Object.keys(j).length===2)return Dn(j);ca(I,B)}return{text:"The server ended the tail. Reconnecting.",again:!0}}catch(D){if(be(D))return null;let{status:I,at:B,nearest:j}=D;C.value=B??null,q.value=j??[];let N=I===0||I===void 0||I===503;return{text:`${D.message}${N?" Trying again.":""}`,again:N}}}function ca(E,A){let D=E.map((N,ie)=>({row:N,size:A[ie]})).filter(({row:N})=>!te.has(N.id));for(let{row:N}of D)te.add(N.id);let I=h.items.slice(0,D.length).concat(D.map(({row:N})=>N)),B=h.dropped,j=$.value&&!se?h.items.slice():null;wt(h,D.map(({row:N})=>N),D.map(({size:N})=>N),W.value,Bs);for(let N of I.slice(0,h.dropped-B))te.delete(N.id);j&&h.dropped>B&&(se=j),Se+=D.length,Tt()}let Se=0,Oe=n.now(),at=!1,nt;function Tt(){clearTimeout(nt),nt=setTimeout(()=>{L.value=Se=0,Oe=n.now()},Cn),!at&&(at=!0,setTimeout(()=>{at=!1;let E=n.now();E-Oe>=1e3&&(L.value=Math.round(Se*1e3/(E-Oe)),Se=0,Oe=E);let A=$.value&&se?m.value.dropped:h.dropped,D=$.value?Math.min(kt().length,$.value.seen-A):h.items.length;m.value={count:D,dropped:A,still:!!($.value&&se)}},En))}function St(){z?.abort(),z=null,b.value=!1,L.value=0,clearTimeout(nt)}return{isMissing:st,stopped:ra,fault:C,nearest:q,ignored:oa,state:l,draft:u,fields:g,shape:tt,drawn:m,held:$,live:b,ended:v,trying:T,rate:L,most:W,marks:H(()=>It(l.value.q)),at:E=>kt()[E]??null,columns:c,roles:i,replaceFault:E=>C.value?jt(l.value.q,C.value,E):l.value.q,wholeRow:({id:E,table:A})=>e.json({path:"/v1/explore/row",body:{db:l.value.db,table:A,id:E}}),fresh:()=>$.value?Te()-$.value.seen:0,follow:la,stop:St,hold(){$.value??={at:n.now(),seen:Te()}},mark(){let E=n.now();wt(h,[{id:`mark ${E} ${Te()}`,time:new Date(E).toISOString(),table:"",v:{},mark:!0}],[40],W.value,Bs),$.value&&($.value={...$.value,seen:Te()}),Tt()},release(){$.value=null,se=null,m.value={count:h.items.length,dropped:h.dropped,still:!1}},clear(){Object.assign(h,vt()),te.clear(),$.value=null,se=null,m.value={count:0,dropped:0,still:!1}},set(E,A){let{db:D,table:I,q:B,wrap:j}=l.value;t.set("tail",{db:D,t:I,q:B,wrap:j?"1":"",...E.t?{}:i.value,...E},{db:"public"},A)}}}function _n(e){let t=new URLSearchParams({shape:"row"});for(let[s,n]of Object.entries(e))n&&t.set(s,n);return`/v1/tail?${t}`}function Dn(e){return e.code===6001?{text:"The browser was too slow: some rows are missing here, but not in the table. Reconnecting.",again:!0}:{text:e.error,again:e.code===4008||e.code===5003}}function Nn({stores:e}){let{tail:t,prefs:s,tables:n}=e,a=t.state.value,o=pe(),[l,i]=w(null);y(()=>{t.clear(),i(null),a.table&&(s.table.value=a.table),t.follow(),document.title=`tail ${a.table} \xB7 cordwood`},[a.db,a.table,a.q]),In(t),Y(t.ignored.value),y(()=>e.keys.bind({" ":["hold or follow",()=>t.held.value?t.release():t.hold()],m:["draw a line here",()=>t.mark()],End:["follow",()=>t.release()],w:["wrap lines",()=>Vs(t)],"/":["search",()=>document.getElementById("search")?.focus()],Escape:["close the row",()=>i(null)]}),[e]);async function c(m){if(i(m),!m.cut)return;let $=await t.wholeRow(m).catch(()=>null);$&&i(b=>b?.id===m.id?$:b)}function u(){t.draft.value===a.q&&t.stopped()?t.follow():t.set({q:t.draft.value})}let{count:d,dropped:p,still:f}=t.drawn.value,g=t.held.value,h=s.zone.value;return r`<h1 class="hidden">Live tail</h1>
<form
class="ask"
role="search"
onSubmit=${m=>{m.preventDefault(),u()}}
>
<${Ft}
db=${a.db}
tables=${a.table?[a.table]:[]}
all=${n.all.value}
single
onPick=${(m,$)=>t.set({db:m,t:$[$.length-1]})}
/>
<${Bt}
text=${t.draft.value}
onText=${m=>t.draft.value=m}
onRun=${u}
fault=${t.draft.value===a.q?t.fault.value:null}
fields=${t.fields.value.value?.fields??[]}
valuesOf=${e.explore.valuesFor}
history=${s.history.value}
/>
<button class="button main" data-ui="run">Follow</button>
</form>
<div class="tailbar">
<span class="live" data-ui="tail-state"
><span class=${`dot ${t.live.value&&!g?"":"bad"}`}></span>${g?`Held at ${qe(g.at,h).time}`:t.live.value?`Live \xB7 ${k(t.rate.value)} rows/s`:"Not connected"}</span
>
<button
class="text"
aria-pressed=${g!==null}
onClick=${()=>g?t.release():t.hold()}
>
${g?"Follow":"Hold"} <kbd>space</kbd>
</button>
<button class="text" data-ui="mark" onClick=${t.mark}>
Mark <kbd>M</kbd>
</button>
<button class="text" onClick=${t.clear}>Clear</button>
<button
class="text"
aria-pressed=${a.wrap}
data-ui="wrap"
onClick=${()=>Vs(t)}
>
Wrap <kbd>W</kbd>
</button>
<label class="text"
>Keep
<select
aria-label="Rows that are kept"
value=${t.most.value}
onChange=${m=>t.most.value=Number(m.currentTarget.value)}
>
${Hs.map(m=>r`<option value=${m}>${k(m)}</option>`)}
</select></label
>
<span class="grow"></span>
${g&&r`<button class="button" data-ui="tail-new" onClick=${t.release}>↓ ${k(t.fresh())} new rows</button>`}
${p>0&&r`<span class="quiet" data-ui="tail-dropped">${k(p)} older rows are in the table only</span>`}
${f&&r`<span class="quiet" data-ui="tail-still">more new rows came than are kept: the oldest of them are in the table only</span>`}
<a class="text" data-ui="explore-this" href=${qn(t)}
>Explore this</a
>
</div>
${t.ended.value&&!(t.trying.value&&e.health.error.value?.status===0)&&r`<${Ln} tail=${t} />`}
${!t.isMissing()&&r`<${S} latest=${{...t.fields,again:()=>{t.follow()}}} what="Following the table" />`}
<div class=${`panes tail ${l?"":"no-detail"}`}>
<section class="pane list" aria-label="Rows" onMouseDown=${m=>{m.target.closest("[data-ui=row]")&&t.hold()}}>
${d===0?r`<${G}
title=${Pn(t)}
>
${t.isMissing()&&r`<p>Its rows are shown here as soon as the first ones are stored.</p>`}
${t.live.value&&r`<p class="acts"><button class="button" onClick=${()=>t.follow("10m")}>Show the last ten minutes</button></p>`}<//
>`:r`<${Ie}
count=${d}
of=${t.drawn.value}
at=${t.at}
shape=${t.shape.value}
columns=${Ct(o,t.columns.value,t.fields.value.value)}
marks=${t.marks.value}
zone=${h}
density=${s.density.value}
narrow=${o}
label=${`${d} rows, newest last`}
selected=${l?.id??""}
dropped=${p}
follow=${!g}
wrap=${a.wrap}
onEnd=${m=>!m&&t.hold()}
onOpen=${m=>{t.hold(),m.id===l?.id?i(null):c(m)}}
/>`}
</section>
${l&&r`<${Mt}
row=${l}
shape=${t.shape.value}
zone=${h}
marks=${t.marks.value}
columns=${t.columns.value}
trace=${null}
onOnly=${m=>t.set({q:Lt(a.q,m)})}
onWithout=${m=>t.set({q:Pt(a.q,m)})}
onClose=${()=>i(null)}
/>`}
</div>`}function Ln({tail:e}){let[t,s]=[e.fault.value,e.nearest.value];return r`<div class="banner" role="alert" data-ui="banner">${e.ended.value}
${s.map(n=>r` <button class="text go" data-ui="nearest" onClick=${()=>e.set({q:e.replaceFault(n)})}>${n}</button>`)}
${!t&&r` <button class="text go" data-ui="retry" onClick=${()=>e.follow()}>${e.trying.value?"Try now":"Follow again"}</button>`}</div>`}function Pn(e){let{table:t}=e.state.value;return t?e.isMissing()?`There is no table ${t} yet.`:e.stopped()?`${t} is not followed.`:`Waiting for new rows in ${t}.`:"Choose a table to follow."}function Vs(e){e.set({wrap:e.state.value.wrap?"":"1"},{replace:!0})}function qn(e){let{db:t,table:s,q:n}=e.state.value;return J("explore",{db:t,t:s,q:n,...e.roles.value,from:e.at(0)?.time??""},{db:"public"})}function In(e){y(()=>{let t,s=0,n=()=>{if(clearTimeout(t),document.visibilityState==="hidden")t=setTimeout(()=>{s=Date.now(),e.stop()},3e4);else if(s){let o=`${Math.ceil((Date.now()-s)/1e3)+30}s`;s=0,e.follow(o)}},a=()=>{let o=getSelection();o&&!o.isCollapsed&&o.anchorNode?.parentElement?.closest(".row")&&e.hold()};return document.addEventListener("visibilitychange",n),document.addEventListener("selectionchange",a),()=>{clearTimeout(t),document.removeEventListener("visibilitychange",n),document.removeEventListener("selectionchange",a),e.stop()}},[e])}async function*Qs(e,t){for(let s=0;s<e.size;){let n=t,a=await Ys(e,s,n),o=a.lastIndexOf(Js)+1;for(;o===0&&s+a.length<e.size;)n*=2,a=await Ys(e,s,n),o=a.indexOf(Js)+1;(o===0||n===t&&s+a.length>=e.size)&&(o=a.length),s+=o,yield{text:new TextDecoder().decode(a.subarray(0,o)),end:s}}}var Js=10;async function Ys(e,t,s){return new Uint8Array(await e.slice(t,t+s).arrayBuffer())}function Zs(e){let t=e.slice(0,Math.max(e.indexOf(`
`),0)||e.length).trim();try{let s=JSON.parse(t);if(typeof s=="object"&&s!==null&&!Array.isArray(s))return"application/x-ndjson"}catch{}return"text/plain"}var jn=1<<20,Xs=50,Mn=5,Un=4001,Wn="2261-12-31T00:00:00Z";function ea({api:e,clock:t}){let s=_([]),n=_(0),a=_(""),o=_(null),l=-1,i=new AbortController,c=new AbortController;async function u(h,m,{fresh:$=!1}={}){i.abort(),i=new AbortController;let{signal:b}=i;l=$?0:-1,Ae(()=>{s.value=[],n.value=0,a.value=m});let v=new URLSearchParams({db:h,table:m,shape:"row"});for(;!b.aborted;){try{await d(h,m,b);let T=await e.send({path:`/v1/tail?${v}`,signal:b});await d(h,m,b),T.body&&await p(T.body,()=>d(h,m,b),b)}catch(T){if(be(T))return;T instanceof rt&&T.code===Un&&(l=0)}await t.wait(1e3,b).catch(()=>{})}}async function d(h,m,$){let{rows:b}=await e.sql(`SELECT count(*) FROM ${me(h,m)}`,{db:h,signal:$}),v=Number(b[0][0]);l<0&&(l=v);let T=Math.max(0,v-l);if(T>0&&s.value.length===0){let C={db:h,tables:[m],to:Wn,limit:Math.min(T,Xs)};s.value=(await e.json({path:"/v1/explore/rows",body:C,signal:$})).rows.reverse()}n.value=T}async function p(h,m,$){let b=!1,v=async()=>{b||(b=!0,await t.wait(200,$),b=!1,await m())};for await(let{values:T}of Fe(h)){let C=T.filter(q=>q.id);C.length!==0&&(s.value=[...s.value,...C].slice(-Xs),v().catch(()=>{}))}}async function f(h,{db:m,table:$,pipeline:b}){c.abort(),c=new AbortController;let{signal:v}=c;o.value={name:h.name,size:h.size,sent:0,rows:0,refused:0,reasons:[],error:"",done:!1};let T=zn(),C=new URLSearchParams({db:m,table:$,pipeline_name:b,skip_error:"true"}),q="",L=0;try{for await(let{text:W,end:te}of Qs(h,jn)){q||=Zs(W);let z={"content-type":q,"Idempotency-Key":`${T}-${L++}`},tt=await g({path:`/v1/ingest?${C}`,method:"POST",text:W,headers:z,signal:v});o.value=Fn(o.value,te,tt)}o.value={...o.value,done:!0}}catch(W){let te=be(W)?"Cancelled: what was sent stays.":W instanceof Error?W.message:String(W);o.value={...o.value,error:te,done:!0}}}async function g(h){for(let m=0;;m++)try{return await e.json(h)}catch($){if(!($ instanceof rt&&($.status===0||$.status===429||$.status===503))||m>=5)throw $;await t.wait($.retryAfter*1e3||1e3*2**m,h.signal)}}return{rows:s,count:n,waits:a,sending:o,follow:u,stop:()=>i.abort(),send:f,cancel:()=>c.abort()}}function Fn(e,t,s){let n=(s.output??[]).reduce((l,i)=>l+(i.affectedrows??0),e.rows),a=(s.skipped?.reasons??[]).map(l=>l.error),o=[...new Set([...e.reasons,...a])].slice(0,Mn);return{...e,sent:t,rows:n,refused:e.refused+(s.skipped?.count??0),reasons:o}}function zn(){return[...crypto.getRandomValues(new Uint8Array(12))].map(e=>e.toString(16).padStart(2,"0")).join("")}function ta({api:e,explore:t,clock:s}){let n=R(s),a=R(s),o=H(()=>{let{afrom:l,ato:i,bq:c}=t.state.value,u=t.range.value;if(!u)return null;if(l&&i)return{a:{from:l,to:i},b:{from:u.from,to:u.to},rest:!0};if(c)return{a:u,b:{...u,query:c},rest:!1};let[d,p]=[Date.parse(u.from),Date.parse(u.to)];return{a:{from:u.from,to:u.to},b:{from:new Date(2*d-p).toISOString(),to:u.from},rest:!1}});return{patterns:n,comparison:a,sets:o,loadPatterns:l=>n.run(i=>e.json({path:"/v1/explore/patterns",body:{...t.scope(),field:l||void 0,limit:200,before:!0},signal:i})),async compare(){let l=o.value;if(!l)return;let i=t.scope(),c={a:{...i,...l.a},b:{...i,...l.b},rest:l.rest,top:20};await a.run(u=>e.json({path:"/v1/explore/compare",body:c,signal:u}))}}}var Bn=3,Gn=200,Hn=6e4;function sa(e,t){let s=_({}),n=new Map,a=null;async function o(l,i){for(let c=l.shift();c&&!i.aborted;c=l.shift()){let u=yt(c);n.set(u,t.now());try{let{last_row:d}=await e.json({path:"/v1/explore/fields",body:{db:c.db,tables:[c.name]},signal:i});s.value={...s.value,[u]:d??""}}catch{n.delete(u)}}}return{times:s,of:l=>s.value[yt(l)],async see(l){a?.abort();let i=new AbortController;a=i;let c=l.filter(u=>t.now()-(n.get(yt(u))??-1/0)>Hn);c.length!==0&&(await t.wait(Gn,i.signal).catch(()=>{}),!i.signal.aborted&&await Promise.all(Array.from({length:Bn},()=>o(c,i.signal))))},stop:()=>a?.abort()}}function yt({db:e,name:t}){return JSON.stringify([e,t])}var aa=["MONITOR","CLUSTER"];function na(e,t){let s=R(t,{once:!0}),n=R(t),a=R(t,{once:!0}),o=R(t),l=_("");return{start:s,plan:n,list:o,cancelling:a,asks:l,clear(){s.cancel(),s.value.value=null,s.error.value=null,l.value=""},async begin(i){await s.run(u=>e.json({path:"/v1/cluster/operations",body:i,signal:u}));let c=s.value.value;return l.value=c?.confirm??"",!s.error.value&&c!==null&&!c.confirm&&!c.removal},loadList:()=>o.run(async i=>(await e.json({path:"/v1/cluster/operations",signal:i,need:aa})).operations),loadPlan:()=>n.run(i=>e.json({path:"/v1/cluster/plan",signal:i,need:aa})),cancel:i=>a.run(c=>e.json({path:`/v1/cluster/operations/${i}`,method:"DELETE",signal:c}))}}function Kn(e){let{api:t,explore:s,place:n,prefs:a}=e;return{...Vt(e),access:Ds(t,P),adding:ea({api:t,clock:P}),analysis:ta({api:t,explore:s,clock:P}),lastRows:sa(t,P),operations:na(t,P),table:qs(t,P),tail:Ks({api:t,place:n,prefs:a,clock:P,session:sessionStorage})}}export{ka as AddPage,Ja as ClusterPage,pa as Compare,fa as Patterns,da as RejectsPage,nn as SettingsPage,kn as TablesPage,Nn as TailPage,Kn as makeStores};
