import{a as Nt,b as Le,c as Qs,j as Pt}from"./chunk-7NV6SUUM.js";import{A as H,C as bt,D as $e,F as V,G as O,H as he,I as Se,J as W,K as gt,L as ce,N as vt,O as wt,P as yt,Q as Oe,R as q,S as kt,T as Ee,U as Qe,V as xt,W as Tt,X as St,Y as Ot,Z as Et,a as w,b as k,ba as G,c as Je,ca as Re,d as xe,da as Ce,e as mt,ea as Ae,f as $t,fa as Rt,g as pe,ga as E,ha as I,i as A,ia as _e,j as F,k as ht,ka as De,l,m as y,ma as Ct,n as x,na as At,o as z,p as re,r as ft,ra as _t,s as le,t as se,ta as Dt,u as Ye,v as ae,va as Ne,w as me,wa as T,x as Te,xa as N,y as ie,z as B,za as Lt}from"./chunk-BJJFDVMV.js";var Xs=8;function Zs({stores:e}){let{analysis:t,explore:s,prefs:o}=e,a=t.sets.value,n=o.zone.value,{q:r,bq:i,partial:c}=s.state.value,[u,d]=w(i);k(()=>{t.compare()},[JSON.stringify(a),r,c]);let p=t.comparison.value.value,$=p!==null&&(p.a.rows===0||p.b.rows===0);return l`<div class="comparing" data-ui="compare"><div class="subhead">${a&&l`<span><i class="set-a"></i>A: ${(f=>`${q(f.from,n)} \u2013 ${q(f.to,n).slice(11)}`)(a.a)} <b>${p&&y(p.a.rows)}</b></span>
<span><i class="set-b"></i>B: ${a.rest?"the rest of the range":i?l`the search <code>${i}</code>`:"the range before"} <b>${p&&y(p.b.rows)}</b></span>`}<span class="grow"></span>${(s.state.value.afrom||i)&&l`<button class="text" onClick=${()=>s.set({afrom:"",ato:"",bq:""})}>Compare with the range before</button>`}
<form class="withsearch" onSubmit=${f=>{f.preventDefault(),s.set({bq:u.trim(),afrom:"",ato:""})}}><input data-ui="compare-search" aria-label="Compare with the rows of this search" placeholder="with another search" value=${u} onInput=${f=>d(f.currentTarget.value)} /></form></div>
<${O} latest=${t.comparison} what="Comparing" />
${p?.low&&!$&&l`<p class="wrong none">One set has fewer than 30 rows: the differences may be chance.</p>`}
${$&&l`<${ea} answer=${p} before=${!a?.rest&&!i} />`}
${p&&!$&&p.fields.length===0&&l`<${W} title="No field differs."><p>Drag over a part of the histogram to compare it with the rest.</p><//>`}
<div class=${`compared ${t.comparison.since.value&&p?"dim":""}`}>${p?.fields.map(f=>l`<${ta} key=${f.name} field=${f} answer=${p} onOnly=${s.only} onWithout=${s.without} />`)}
${p&&(p.same.length>0||p.unique.length>0)&&l`<p class="quiet none">${p.same.length>0&&`Alike in both: ${p.same.join(", ")}. `}${p.unique.length>0&&`Different in each row: ${p.unique.join(", ")}.`}</p>`}</div></div>`}function ea({answer:e,before:t}){let s=e.b.rows>0?"A has no rows.":e.a.rows===0?"Neither set has rows.":t?"The range before has no rows.":"B has no rows.";return l`<${W} title="There is nothing to compare."><p>${s} Drag over a part of the histogram to compare it with the rest, or write another search.</p><//>`}function ta({field:e,answer:t,onOnly:s,onWithout:o}){let a=e.values.map(({value:c,a:u,b:d})=>({value:c,a:t.a.rows>0?u/t.a.rows:0,b:t.b.rows>0?d/t.b.rows:0})),n=e.kind==="numbers"?a:[...a].sort((c,u)=>Math.abs(u.a-u.b)-Math.abs(c.a-c.b)).slice(0,Xs),r=Math.max(1e-4,...n.flatMap(({a:c,b:u})=>[c,u])),i=c=>{let{value:u}=n[c];if(u===null)return Qe(e.name,"*",":").replace('"*"',"*");if(e.kind!=="numbers")return Qe(e.name,String(u));let d=n[c+1]?.value;return d===void 0?`${e.name}:>=${u}`:`${e.name}:${u}..${d}`};return l`<section class="card" data-ui="compare-field" aria-label=${e.name}><h3>${e.name}<small title="0: the same, 1: nothing in common">${e.score.toFixed(2)}</small></h3>
<ul>${n.map(({value:c,a:u,b:d},p)=>l`<li><button class="only" onClick=${()=>c===null?o(i(p)):s(i(p))} title=${`A ${Pe(u)}, B ${Pe(d)}; click: only these`}>${c===null?"no value":`${e.kind==="numbers"?"\u2265 ":""}${e.kind==="numbers"?Number(Number(c).toPrecision(4)):re(String(c).slice(0,60))}`}</button>
<span class="pair" aria-hidden="true"><i class="set-a" style=${{width:`${u/r*100}%`}}></i><i class="set-b" style=${{width:`${d/r*100}%`}}></i></span><small>${Pe(u)}<br />${Pe(d)}</small></li>`)}</ul></section>`}function Pe(e){return`${e>0&&e<.001?"< 0.1":(e*100).toFixed(1)} %`}var qt={count:["Most",(e,t)=>t.count-e.count],rare:["Fewest",(e,t)=>e.count-t.count],new:["New",(e,t)=>+(e.before>0)-+(t.before>0)||t.count-e.count],growing:["Growing",(e,t)=>t.count/(t.before+1)-e.count/(e.before+1)]};function sa({stores:e}){let{analysis:t,explore:s,prefs:o}=e,[a,n]=w("count"),r=s.range.value,i=s.state.value,c=s.fields.value.value?.fields??[],u=c.filter(v=>v.type==="String").map(v=>v.name),d=`${i.db}.${i.tables.join()}=`,p=o.patternFields.value.find(v=>v.startsWith(d))?.slice(d.length)??"",$=u.includes(p)?p:"",m=c.length>0&&$===""&&!c.some(v=>v.role==="message");k(()=>{r&&!m&&t.loadPatterns($)},[r?.from,r?.to,i.q,i.partial,$,m]);let f=v=>{o.patternFields.value=[d+v,...o.patternFields.value.filter(R=>!R.startsWith(d))]};if(m)return l`<${aa} texts=${u} onChoose=${f} />`;let h=t.patterns.value.value,b=h?.rows??0,g=[...h?.patterns??[]].sort(qt[a][1]);return l`<div class="subhead"><span class="quiet">${h&&`${h.exact?"":"\u2248 "}${y(b)} rows as ${y(h.patterns.length)} patterns of`}</span>
${h&&l`<select aria-label="Text whose patterns are shown" value=${$||h.field} onChange=${v=>f(v.currentTarget.value)}>${[...new Set([h.field,...u])].map(v=>l`<option value=${v}>${v}</option>`)}</select>`}<span class="grow"></span>
<span role="group" aria-label="Order" class="orders">${Object.entries(qt).map(([v,[R]])=>l`<button class="text" aria-pressed=${v===a} onClick=${()=>n(v)}>${R}</button>`)}</span></div>
<${O} latest=${t.patterns} what="Looking for patterns" />
${h&&h.patterns.length===0&&l`<${W} title="No row has this text."><p>Choose another field, or a longer range.</p><//>`}
<ul data-ui="patterns" class=${`patterns ${t.patterns.since.value&&h?"dim":""}`}>${g.map(v=>l`<${na} key=${v.pattern} pattern=${v} total=${b} zone=${o.zone.value} exact=${h?.exact!==!1&&!v.about}
onOnly=${()=>s.only(v.query,{view:"rows"})} onWithout=${()=>s.without(`(${v.query})`)} />`)}</ul>
${h&&h.other>0&&l`<div class="foot"><span>${y(h.other)} rows have none of these patterns</span></div>`}`}function aa({texts:e,onChoose:t}){return e.length===0?l`<${W} title="There are no texts."><p>Patterns need a field with texts, and this table has none.</p><//>`:l`<${W} title="Which text?"><p>This table has no message field. Show the patterns of</p>
<p class="acts">${e.slice(0,20).map(s=>l`<button class="button" data-ui="pattern-field" onClick=${()=>t(s)}>${s}</button> `)}</p><//>`}function na({pattern:e,total:t,zone:s,exact:o,onOnly:a,onWithout:n}){let r=t>0?e.count/t*100:0,i=vt.find(u=>e.levels[u]>0&&wt(u))??"",c=e.before===0?"new":`${y(e.before)} before`;return l`<li data-ui="pattern" class=${i}>
<span class="count">${o?"":"\u2248 "}${y(e.count)}<small>${r<.1?"< 0.1":r.toFixed(1)} %</small></span>
<${oa} counts=${e.spark} level=${i} />
<button class="only" title=${e.example.text.slice(0,500)} onClick=${a}>${e.pattern.split("\u27E8*\u27E9").map((u,d)=>l`${d>0&&l`<i>⟨*⟩</i>`}${u}`)}</button>
<small class=${`wide ${e.before===0?"fresh":""}`}>${c}</small><small class="wide">since ${q(e.first,s).slice(5,16)}</small>
<button class="text not" aria-label=${`Hide rows like ${e.pattern.slice(0,60)}`} title="Hide these rows" onClick=${n}>−</button></li>`}function oa({counts:e,level:t}){let s=Math.max(1,...e),o=e.map((a,n)=>a>0?`M${n*3+1} 18v-${Math.max(1,a/s*16).toFixed(1)}`:"").join("");return l`<svg class="spark" width="72" height="18" viewBox="0 0 72 18" aria-hidden="true"><path d=${o} stroke=${`var(--bar-${t||"info"})`} stroke-width="2" /></svg>`}function qe(e){let t=e.db==="public"?"":`db=${Xe(e.db)}&`;return`${e.origin}/v1/ingest?${t}table=${Xe(e.table)}&pipeline_name=${Xe(e.pipeline)}`}function Xe(e){return encodeURIComponent(e).replace(/%3A/g,":").replace(/%40/g,"@")}function fe(e,t){return qe(e)+(e.pipeline===X?`&custom_time_index=${t}`:"")}var X="svc_identity";function Ie(e){return`${e.db==="public"?"":`--db ${e.db} `}--table ${e.table}${e.pipeline===X?"":` --pipeline ${e.pipeline}`}`}function Ze(e){return e.user?`export CORDWOOD_USER=${le(e.user)}:"$CORDWOOD_PASSWORD"
`:""}function It(e){let t=[["x-svc-log-table-name",e.table]];return e.db!=="public"&&t.push(["x-svc-db-name",e.db]),e.pipeline!==X&&t.push(["x-svc-pipeline-name",e.pipeline]),t}function de(e){return It(e).map(([t,s])=>`${t}: ${K(s)}`).join(", ")}function et(e){return It(e).map(([t,s])=>`"${t}" = "${s}"`).join(", ")}function K(e){return/^[a-z][\w.-]*$/i.test(e)&&!/^(null|true|false|yes|no|on|off|y|n)$/i.test(e)?e:JSON.stringify(e)}function jt(e){return/^[a-z][\w.@-]*$/i.test(e)?e:`'${e.replace(/[\\']/g,"\\$&")}'`}var ra={database:/^[A-Za-z_][\w.-]{0,127}$/,table:/^[A-Za-z_:-][\w:.@#-]{0,127}$/,pipeline:/^[\w.:-]{1,128}$/};function be({db:e,table:t,pipeline:s}){for(let[o,a]of[["database",e],["table",t],["pipeline",s]])if(!ra[o].test(a))return`\u201C${a}\u201D cannot be the name of a ${o}. Use letters, digits, and the characters _ . : -`;return""}function J(e){let t=new URL(e.origin);return{host:t.hostname,port:t.port||(t.protocol==="https:"?"443":"80"),secure:t.protocol==="https:"}}function tt(e,t){let s=e.split(`
`).find(o=>o.startsWith(`${t} = "`));return s?s.slice(t.length+4,s.lastIndexOf('"')):""}function st(e,t,s){let{host:o,port:a,secure:n}=J(e);return`service:
  storage.path: /var/lib/fluent-bit
pipeline:
${t}
  outputs:
    - name: http
      match: '*'
      host: ${o}
      port: ${a}${n?`
      tls: on`:""}
      uri: ${fe(e,"date;rfc3339").slice(e.origin.length)}
      format: json_lines
      json_date_format: ${e.pipeline===X?"iso8601":s}
      compress: gzip
      retry_limit: no_limits
      storage.total_limit_size: 1G${e.user?`
      http_user: ${K(e.user)}
      http_passwd: \${CORDWOOD_PASSWORD}`:""}`}function at(...e){return t=>e.map(s=>s+Ut([`table=${t.table}`,...Mt(t)])).join(",")}function Mt(e){return[...e.db==="public"?[]:[`db=${e.db}`],...e.pipeline===X?[]:[`pipeline=${e.pipeline}`]]}function Ut(e){return e.length===0?"":`?${e.join("&")}`}var Wt=[{id:"syslog",name:"syslog",file:"in a shell",note:"Set the same host and port in routers, switches and other devices.",port:{flag:"syslog-addr",text:at("udp://0.0.0.0:5514","tcp://0.0.0.0:5514")},text:e=>`logger --server ${J(e).host} --port 5514 --tcp --octet-count --tag shop 'GET /cart 200'`},{id:"docker",name:"Docker",file:"compose.yaml",note:"A container starts only if the port answers.",port:{flag:"splunk-addr",text:e=>`0.0.0.0:8088${Ut(Mt(e))}`},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: splunk
      options:
        splunk-url: ${new URL(e.origin).protocol}//${J(e).host}:8088
        splunk-token: ${e.user?JSON.stringify(`${e.user}:\${CORDWOOD_PASSWORD}`):"none"}
        splunk-index: ${K(e.table)}
        splunk-format: json`},{id:"gelf",name:"GELF",file:"compose.yaml of Docker",port:{flag:"gelf-addr",text:at("udp://0.0.0.0:12201","tcp://0.0.0.0:12201")},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: gelf
      options:
        gelf-address: tcp://${J(e).host}:12201
        tag: shop`},{id:"forward",name:"Fluentd forward",file:"fluent-bit.yaml",note:"Fluentd and the libraries called fluent-logger send to the same port. Add table_by_tag=true to the address to name tables by the tags of records.",port:{flag:"forward-addr",text:at("tcp://0.0.0.0:24224")},text:e=>`pipeline:
  outputs:
    - name: forward
      match: '*'
      host: ${J(e).host}
      port: 24224
      require_ack_response: true
      compress: gzip
      retry_limit: no_limits`},{id:"otlp-grpc",name:"OTLP by gRPC",file:"otelcol.yaml",note:"If the server has users, add the header authorization with Basic and the base64 of NAME:PASSWORD.",port:{flag:"otlp-grpc-addr",text:()=>"0.0.0.0:4317"},text:e=>`exporters:
  otlp:
    endpoint: ${J(e).host}:4317
    tls: {insecure: true}
    compression: zstd
    headers: {${de(e)}}
    retry_on_failure: {max_elapsed_time: 0}`}];var ge=[{id:"curl",name:"curl",file:"in a shell",text:e=>`curl -X POST '${qe(e)}' \\
     ${e.user?`-u ${le(e.user)}:"$CORDWOOD_PASSWORD" `:""}-H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"},{"level":"warn","took_ms":12.5}]'`},{id:"cordwood",name:"cordwood",file:"in a shell",note:"Sends a file, which may be compressed. If an answer is lost, it sends the batch again, and the batch is stored once.",text:e=>`${Ze(e)}cordwood ingest --server ${e.origin} ${Ie(e)} app.ndjson.gz`},{id:"journald",name:"journald",file:"in a shell, or as a unit of systemd",text:e=>`${Ze(e)}journalctl --output json --follow --since now |
  cordwood ingest --server ${e.origin} --forever ${Ie(e)}${e.pipeline===X?" --custom-time-index '__REALTIME_TIMESTAMP;epoch;us'":""} -`},{id:"vector",name:"Vector",file:"vector.yaml",lacks:({table:e})=>e.includes("#")?"Vector reads % in an address as a part of a time, so it cannot send to a table with # in its name.":"",note:"From version 0.57 on, start Vector with --dangerously-allow-env-var-interpolation, so that it reads variables, or take the password from one of its secret backends.",text:e=>`sources:
  files:
    type: file
    include: [/var/log/app/*.log]
sinks:
  cordwood:
    type: http
    inputs: [files]
    uri: ${fe(e,"timestamp;rfc3339")}
    method: post
    encoding: {codec: json}
    compression: zstd
    batch: {max_bytes: 2000000, timeout_secs: 1}
    request: {concurrency: 4, retry_attempts: 1000000}
    buffer: {type: disk, max_size: 1073741824}
    acknowledgements: {enabled: true}
    healthcheck: {uri: ${e.origin}/health}${e.user?`
    auth: {strategy: basic, user: ${K(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}`},{id:"fluent-bit",name:"Fluent Bit",file:"fluent-bit.yaml",text:e=>st(e,`  inputs:
    - {name: tail, path: /var/log/app/*.log, tag: app, db: /var/lib/fluent-bit/tail.db, storage.type: filesystem}`,"iso8601")},{id:"kubernetes",name:"Kubernetes",file:"fluent-bit.yaml of a DaemonSet of Fluent Bit",note:"Mount /var/log and /var/lib/fluent-bit of the machine, and give the service account the right to read pods.",text:e=>st(e,`  inputs:
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
  endpoint ${fe(e,"time;epoch;ms")}
  content_type application/x-ndjson
  retryable_response_codes 408,429,500,502,503,504${e.user?`
  <auth>
    method basic
    username ${jt(e.user)}
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
    url => "${fe(e,"@timestamp;rfc3339")}"
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
    url("${qe(e)}")${e.user?`
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
       binary="/usr/bin/cordwood ingest --server ${e.origin} --forever --format ndjson ${Ie(e)} -"
       queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
       action.resumeRetryCount="-1")`},{id:"opentelemetry",name:"OpenTelemetry Collector",file:"otelcol.yaml",text:e=>`extensions:
  file_storage: {directory: /var/lib/otelcol, create_directory: true}${e.user?`
  basicauth: {client_auth: {username: ${K(e.user)}, password: "\${env:CORDWOOD_PASSWORD}"}}`:""}
receivers:
  filelog: {include: [/var/log/app/*.log], storage: file_storage}
exporters:
  otlphttp:
    endpoint: ${e.origin}${e.user?`
    auth: {authenticator: basicauth}`:""}
    compression: zstd
    headers: {${de(e)}}
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
    headers             = {${et(e)}}
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
    headers: {${de(e)}}${e.user?`
    basic_auth: {username: ${K(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}
positions: {filename: /var/lib/promtail/positions.yaml}
scrape_configs:
  - job_name: app
    static_configs:
      - targets: [localhost]
        labels: {app: shop, __path__: /var/log/app/*.log}`},{id:"filebeat",name:"Filebeat",file:"filebeat.yml",text:e=>{let{host:t,port:s,secure:o}=J(e);return`filebeat.inputs:
  - {type: filestream, id: app, paths: [/var/log/app/*.log]}
output.elasticsearch:
  hosts: ["${o?"https":"http"}://${t}:${s}/v1/elasticsearch"]${e.user?`
  username: ${K(e.user)}
  password: "\${CORDWOOD_PASSWORD}"`:""}
  headers: {${de(e)}, x-svc-hints: on_type_conflict=aside}
setup.ilm.enabled: false
setup.template.enabled: false`}},{id:"telegraf",name:"Telegraf",file:"telegraf.conf",note:"Telegraf keeps 10,000 records in memory while the server is down. Set metric_buffer_limit for more.",text:e=>`[[outputs.loki]]
  domain = "${e.origin}"
  endpoint = "/loki/api/v1/push"
  gzip_request = true
  http_headers = {${et(e)}}${e.user?`
  username = ${JSON.stringify(e.user)}
  password = "\${CORDWOOD_PASSWORD}"`:""}`},...Wt];var la={db:null,t:null,pipeline:null,sender:e=>ge.some(t=>t.id===e)};function ia({stores:e}){let{adding:t,place:s,signIn:o}=e,a=s.here.value.params,n=ge.find(m=>m.id===a.get("sender"))??ge[0],[r,i,c]=[a.get("db")||"public",a.get("t")||"app",a.get("pipeline")||"svc_identity"];G(s.page.value==="add"?B(a,la):[]),k(()=>{document.title="Add data \xB7 cordwood"},[]),k(()=>{let m=setTimeout(()=>{t.follow(r,i)},300);return()=>{clearTimeout(m),t.stop()}},[r,i]);let u=m=>s.set("add",{sender:n.id,t:i,db:r,pipeline:c,...m},{sender:"curl",t:"app",db:"public",pipeline:"svc_identity"},{replace:!0}),d=be({db:r,table:i,pipeline:c})||n.lacks?.({db:r,table:i,pipeline:c})||"",p=De(o,be({db:r,table:i,pipeline:c})?[]:[["INSERT",_e(r,i)]])?.[0]!==!1,$=d?"":n.text({origin:location.origin,db:r,table:i,pipeline:c,user:o.user.value});return l`<div class="scrolled add"><div class="state"><h1>Add data</h1>
<span class="quiet">The first rows create the table, with a column for each field.</span></div>
${!p&&l`<p class="wrong none" data-ui="may-not">Your user may not store rows in ${i}: senders need another user, or a token that may.</p>`}
<div class="asked-for">
<label>Table<input data-ui="add-table" value=${i} onInput=${m=>u({t:Ft(m)})} /></label>
<label>Pipeline<input list="pipelines" value=${c} onInput=${m=>u({pipeline:Ft(m)})} /></label>
<${da} api=${e.api} />
</div>
<nav class="senders" aria-label="Senders">${ge.map(m=>l`<button class="text" aria-pressed=${m===n} data-ui=${`sender-${m.id}`} onClick=${()=>u({sender:m.id})}>${m.name}</button>`)}</nav>
${n.port&&!d&&l`<${ca} api=${e.api} flag=${n.port.flag} value=${n.port.text({origin:location.origin,db:r,table:i,pipeline:c,user:""})} />`}
<section class="snippet" aria-label=${n.name}><div class="head"><h2>${n.name}</h2><span class="quiet">${n.file}</span><span class="grow"></span>
${!d&&l`<button class="button" onClick=${()=>V($)}>Copy</button>`}</div>
${d?l`<p class="wrong" role="alert" data-ui="wrong-name">${d}</p>`:l`<pre data-ui="snippet" tabindex="0">${$}</pre>`}
${n.note&&l`<p class="quiet none">${n.note}</p>`}
${o.user.value&&l`<p class="quiet none">Set the variable CORDWOOD_PASSWORD to ${o.session.value?.auth==="token"?"a token that may store rows":`the password of ${o.user.value}`}.</p>`}</section>
${p&&!be({db:r,table:i,pipeline:c})&&l`<${ua} adding=${t} to=${{db:r,table:i,pipeline:c}} />`}
<${pa} stores=${e} db=${r} table=${i} />
<${fa} key=${`${r}.${i}`} stores=${e} db=${r} table=${i} />
</div>`}function ca({api:e,flag:t,value:s}){let[o,a]=w("");k(()=>{e.send({path:"/config",need:["MONITOR","CLUSTER"]}).then(async i=>a(await i.text()),()=>{})},[]);let n=tt(o,t),r=`cordwood serve --${t} ${se(s)}`;return l`<section class="snippet" aria-label="On the server" data-ui="server-port"><div class="head"><h2>On the server</h2><span class="quiet">${n?`It listens at ${n}. The address says of which table and pipeline.`:"Start the server with this flag to use this protocol."}</span><span class="grow"></span>
<button class="button" onClick=${()=>V(r)}>Copy</button></div><pre tabindex="0">${r}</pre></section>`}function Ft(e){return e.currentTarget.value.trim()}function da({api:e}){let[t,s]=w([]);return k(()=>{e.json({path:"/v1/pipelines"}).then(o=>s(o.pipelines.map(a=>a.name)),()=>{})},[]),l`<datalist id="pipelines">${["svc_identity",...new Set(t)].map(o=>l`<option value=${o}></option>`)}</datalist>`}function ua({adding:e,to:t}){let[s,o]=w(!1),a=xe(null),n=i=>i?.[0]&&void e.send(i[0],t),r=e.sending.value;return l`<section class=${`drop ${s?"over":""}`} aria-label="Send a file" data-ui="drop"
onDragOver=${i=>{i.preventDefault(),o(!0)}}
onDragLeave=${()=>o(!1)}
onDrop=${i=>{i.preventDefault(),o(!1),n(i.dataTransfer?.files)}}>
<p>Or drop a file of lines or NDJSON here. <button class="text go" onClick=${()=>a.current?.click()}>Choose a file</button>
<input ref=${a} type="file" class="hidden" data-ui="file" tabindex="-1" aria-label="File" onChange=${i=>{let c=i.currentTarget;n(c.files),c.value=""}} /></p>
${r&&l`<p role="status">${r.name}: ${x(r.sent)} of ${x(r.size)}, ${y(r.rows)} ${r.rows===1?"row":"rows"} stored${r.done?r.error?`. ${r.error}`:", done.":"\u2026"} ${!r.done&&l`<button class="text go" data-ui="cancel" onClick=${e.cancel}>Cancel</button>`}</p>
<div class="bar" style=${{"--p":`${r.size>0?r.sent/r.size*100:100}%`}}></div>
${r.refused>0&&l`<p class="wrong">${y(r.refused)} ${r.refused===1?"record was":"records were"} refused${r.refused>r.reasons.length&&", for example"}:</p>`}
${r.reasons.map(i=>l`<p class="wrong">${re(i)}</p>`)}`}
</section>`}function pa({stores:e,db:t,table:s}){let{adding:o,api:a,prefs:n}=e,r=ce(),[i]=w(()=>T(N)),c=o.rows.value,u=c.length>0;if(k(()=>{u&&i.run(p=>a.json({path:"/v1/explore/fields",body:{db:t,tables:[s]},signal:p}),`${t}.${s}`)},[u,t,s]),!u)return l`<section class="first" aria-live="polite" data-ui="first-row"><${ba} table=${s} /></section>`;let d=i.value.value;return l`<section class="first pane" aria-live="polite" data-ui="first-row">
<div class="head"><h2>${y(o.count.value)} ${o.count.value===1?"row":"rows"} arrived in ${s}</h2>
<span class="quiet">${d&&`${d.fields.length} fields: ${d.fields.map(p=>p.name).join(", ")}`}</span><span class="grow"></span>
<a class="button main" href=${H("explore",{db:t,t:s},{db:"public"})}>Open in Explore</a></div>
<${Ee} count=${c.length} of=${c} at=${p=>c[p]} shape=${Ne(d)} columns=${[]} marks=${null} zone=${n.zone.value}
density=${n.density.value} narrow=${r} label=${`${c.length} rows, newest last`} selected="" follow onOpen=${()=>{}} /></section>`}var ma=10,$a=3e3,ha=6e4;function fa({stores:e,db:t,table:s}){let[o]=w(()=>T(N));k(()=>{let n=Date.now()-ha,r=()=>document.visibilityState==="visible"&&void o.run(c=>e.rejects.newest({db:t,table:s,since:n},c),`${t}.${s}`);r();let i=setInterval(r,$a);return()=>{clearInterval(i),o.cancel()}},[t,s]);let a=o.value.value??[];return a.length===0?null:l`<section class="first" aria-live="polite" data-ui="first-reject"><div class="head"><h2>${a.length===5?"Newest rejected records":`${y(a.length)} rejected ${a.length===1?"record":"records"}`}</h2><span class="grow"></span>
<a class="text" href=${H("rejects",{t:s})}>All rejects of ${s}</a></div>
<${Nt} stores=${e} rejects=${a} /></section>`}function ba({table:e}){let[t]=w(Date.now()),s=he(1e3),o=Math.floor((s-t)/1e3);return l`<p><span class="dot waiting"></span> Waiting for the first row in <b class="mono">${e}</b>… ${o} s</p>
${o>=ma&&l`<p class="quiet" data-ui="first-help">Nothing has arrived. Look at the answer that the sender gets: the server says there why it refuses a request. With <b class="mono">skip_error=true&on_reject=store</b> in the address, it keeps refused records, and they are shown here.</p>`}`}var zt={"access-max-age":"1h0m0s","user-file":"","user-provider":"","oidc-issuer":"","oidc-client-id":"","oidc-client-secret-file":"","oidc-audience":"","oidc-redirect-url":"","oidc-groups-claim":"groups","oidc-user-claim":"sub","oidc-max-age":"1h0m0s","tls-cert":"","tls-key":"","tls-client-ca":"","tls-client-user":"off","metrics-open":!0,"proxy-protocol":!1,"trusted-proxies":"","auto-create-table":!0,"client-variables":!0,"object-storage-url":"","object-storage-endpoint":"","object-storage-region":"","object-storage-path-style":!1,"object-storage-ca-file":""},je="cluster-secret",Bt=["rpc-tls-ca","rpc-tls-cert","rpc-tls-key","rpc-tls-server-name"],ga=/-(?:file|cert|key|ca)$/;function va(e){let t={},s="";for(let o of e.split(`
`)){s=/^\[([\w-]+)\]/.exec(o)?.[1]??s;let[,a,n]=/^\s*([\w-]+) = (.+)$/.exec(o)??[];if(a)try{let r=JSON.parse(n);t[s?`${s}-${a}`:a]=Array.isArray(r)?r.join(","):r}catch{t[s?`${s}-${a}`:a]=n.replace(/^'(.*)'$/,"$1")}}return t}function Ht({nodes:e,auth:t,config:s}){let o=va(s),a=e.map(p=>p.rpc_addr),n=a.filter(p=>!wa(p)),r=(n.length>0?n:a).join(","),i=Object.entries(zt).filter(([p,$])=>o[p]!==void 0&&o[p]!==$).map(([p])=>Gt(p,o[p])),c=o["rpc-tls-cert"]?Bt.filter(p=>o[p]).map(p=>Gt(p,o[p])):[`--cluster-secret-file ${je}`],u=["cordwood serve --node-name NAME --data-dir /var/lib/cordwood","--rpc-addr 0.0.0.0:4001 --advertise-addr ADDRESS:4001","--http-addr 0.0.0.0:4000",...t?["--auth=on"]:[],...i,c.join(" "),`--seeds ${r}`],d=[...Object.keys(zt),...Bt].filter(p=>ga.test(p)&&o[p]);return{command:u.join(` \\
  `),files:[...o["rpc-tls-cert"]?[]:[je],...d.map(p=>String(o[p]))],local:n.length>0?"":a.join(", ")}}function Gt(e,t){return typeof t=="boolean"?`--${e}=${t}`:`--${e} ${le(String(t))}`}function wa(e){return/^(?:127\.|localhost:|\[::1\])/.test(e)}var Z=()=>"",ve={name:"node",label:"Node",kind:"node"},Vt={name:"force",label:"Also if the metadata group then survives the loss of fewer nodes",kind:"check"},Me={name:"shard",label:"Shard",kind:"shard"},we=[{id:"drain",name:"Drain a node\u2026",group:"nodes",says:"All replicas and leaders move to other nodes, and the node gets nothing new until it is undrained. For a restart only leaders move: the node keeps its replicas.",asks:[ve,{name:"restart",label:"For a restart: move leaders only",kind:"check"}],word:Z,request:e=>({kind:"node-drain",node:e.node,for_restart:e.restart==="yes"})},{id:"undrain",name:"Undrain a node\u2026",group:"nodes",says:"The node takes part again. A running drain ends.",asks:[ve],word:Z,request:e=>({kind:"node-undrain",node:e.node})},{id:"decommission",name:"Decommission a node\u2026",group:"nodes",says:"All replicas move away for good, and the node leaves the metadata group. If it does not answer, its replicas are rebuilt from other nodes.",asks:[ve,Vt],word:e=>e.node,request:e=>({kind:"node-decommission",node:e.node,force:e.force==="yes"})},{id:"remove",name:"Forget a node\u2026",group:"nodes",says:"The cluster forgets a stopped node without replicas. It can only return with an empty data folder.",asks:[ve,Vt],word:e=>e.node,request:e=>({kind:"node-remove",node:e.node,force:e.force==="yes"})},{id:"shard-add",name:"Add shards\u2026",group:"shards",says:"New shards are created on the nodes with the least data. New tables use them; existing tables stay.",asks:[{name:"count",label:"How many",kind:"number"}],word:Z,request:e=>({kind:"shard-add",count:Number(e.count)})},{id:"shard-move",name:"Move a replica\u2026",group:"shards",says:"A replica is copied to the other node, catches up, and then takes the place of the old one. Queries and writes continue meanwhile.",asks:[Me,{name:"from",label:"From",kind:"node"},{name:"to",label:"To",kind:"node"}],word:Z,request:e=>({kind:"shard-move",shard:Number(e.shard),from:e.from,to:e.to})},{id:"replicas",name:"Change replicas\u2026",group:"shards",says:"The shard gets this number of replicas, each on a different node.",asks:[Me,{name:"replicas",label:"Replicas",kind:"number"}],word:Z,request:e=>({kind:"replica-change",shard:Number(e.shard),replicas:Number(e.replicas)})},{id:"rebuild",name:"Rebuild a replica\u2026",group:"shards",says:"The replica is discarded and rebuilt from the others.",asks:[Me,ve],word:Z,request:e=>({kind:"replica-rebuild",shard:Number(e.shard),node:e.node})},{id:"shard-remove",name:"Remove a shard\u2026",group:"shards",says:"Its tables move to other shards with their rows, two at a time; then the shard is removed.",asks:[Me],word:e=>e.shard?`shard ${e.shard}`:"",request:e=>({kind:"shard-remove",shard:Number(e.shard)})},{id:"table-move",name:"Move a table\u2026",group:"shards",says:"The other shards take the writes of the table. Existing rows stay, unless they are moved too.",asks:[{name:"table",label:"Table",kind:"table"},{name:"shards",label:"To the shards",kind:"shards",note:"like 2, 3"},{name:"rows",label:"Move the rows too",kind:"check"}],word:Z,request:e=>({kind:"table-move",table:e.table,to_shards:ya(e.shards),with_rows:e.rows==="yes"})},{id:"partition",name:"Partition a table\u2026",group:"shards",says:"The table is written to this number of shards.",asks:[{name:"table",label:"Table",kind:"table"},{name:"partitions",label:"Shards",kind:"number"},{name:"rows",label:"Distribute existing rows too",kind:"check"}],word:Z,request:e=>({kind:"table-partition",table:e.table,partitions:Number(e.partitions),with_rows:e.rows==="yes"})}];function ya(e){return e.split(/[\s,]+/).filter(t=>t!=="").map(Number)}var ka={"node-add":()=>({name:"Add a node\u2026",act:"add-node",given:{}}),"node-undrain":({node:e=""})=>({name:`Undrain ${e}\u2026`,act:"undrain",given:{node:e}}),"node-decommission":({node:e=""})=>({name:`Decommission ${e}\u2026`,act:"decommission",given:{node:e}}),"node-remove":({node:e=""})=>({name:`Forget ${e}\u2026`,act:"remove",given:{node:e}}),"shard-move":({node:e="",shard:t})=>({name:"Move a replica\u2026",act:"shard-move",given:{from:e,shard:t?String(t):""}}),"replica-rebuild":({node:e="",shard:t})=>({name:"Rebuild the replica\u2026",act:"rebuild",given:{node:e,shard:String(t??"")}}),rebalance:()=>({name:"Rebalance\u2026",act:"rebalance",given:{}}),"rebalance-resume":()=>({name:"Resume rebalancing\u2026",act:"rebalance",given:{}}),cancel:({operation:e})=>({name:`Cancel operation ${e}`,act:"cancel",given:{operation:String(e??"")}})};function Kt({actions:e=[]}){return e.flatMap(t=>ka[t.kind]?.(t)??[])}function Jt({id:e,given:t,state:s,stores:o,onClose:a}){let{operations:n,health:r,tables:i}=o,c=we.find(b=>b.id===e),[u,d]=w({count:"1",replicas:String(s.replication),partitions:"2",...t});Je(()=>n.clear(),[]);let p=n.asks.value,$=n.start.value.value,m=p||c.word(u);async function f(){if(n.start.since.value>0)return;let b=c.request(u);await n.begin(p?{...b,confirm:p}:b)&&(ae(n.start.value.value?.message||"The operation has started."),a(),await r.load())}let h=b=>g=>d({...u,[b]:g});return l`<${Te} key=${p} title=${c.name.replace("\u2026","")} word=${m} action="Begin" busy=${n.start.since.value>0} onYes=${f} onClose=${a}>
<p>${c.says}</p>
${c.asks.map(b=>l`<label class=${b.kind==="check"?"check":""}>${b.kind!=="check"&&b.label}<${Ta} asked=${b} value=${u[b.name]??""} state=${s} tables=${i.all.value} onValue=${h(b.name)} />${b.kind==="check"&&b.label}</label>`)}
<${xa} values=${u} state=${s} tables=${i.all.value} />
${p&&$?.message&&l`<p class="wrong" role="alert">${$.message}</p>`}
<${O} latest=${n.start} what="Beginning it" inForm /><//>`}function xa({values:e,state:t,tables:s}){let o=t.nodes.find(i=>i.name===(e.shard?"":e.node)),a=t.shards.find(i=>String(i.id)===e.shard),n=s.find(i=>`${i.db}.${i.name}`===e.table),r=a?`Shard ${a.id} has rows of ${x(a.bytes)}.`:o?`${o.name} has ${o.replicas} replicas with ${x(o.bytes)}, and leads ${o.leads} shards.`:n?`${e.table} has ${x(n.bytes)}.`:"";return r&&l`<p class="quiet">${r}</p>`}function Ta({asked:e,value:t,state:s,tables:o,onValue:a}){let n=c=>a(c.currentTarget.value),r=`act-${e.name}`;if(e.kind==="check")return l`<input type="checkbox" data-ui=${r} checked=${t==="yes"} onChange=${()=>a(t==="yes"?"":"yes")} />`;if(e.kind==="number")return l`<input type="number" data-ui=${r} required min="1" max="64" value=${t} onInput=${n} />`;if(e.kind==="shards")return l`<input required data-ui=${r} placeholder=${e.note} pattern="[0-9]+([ ,]+[0-9]+)*" value=${t} onInput=${n} />`;let i={node:()=>s.nodes.map(c=>c.name),shard:()=>s.shards.map(c=>String(c.id)),table:()=>o.filter(c=>c.db!=="svc_private").map(c=>`${c.db}.${c.name}`)}[e.kind]();return l`<select required data-ui=${r} value=${t} onChange=${n}><option value="">Choose</option>${i.map(c=>l`<option value=${c}>${c}</option>`)}</select>`}function Yt({state:e,stores:t,onClose:s}){let[o]=w(()=>new Set(e.nodes.map($=>$.id))),[a]=w(()=>T(N));k(()=>{a.run(async $=>(await t.api.send({path:"/config",signal:$,need:["MONITOR","CLUSTER"]})).text())},[]);let n=e.nodes.filter($=>!o.has($.id)),r=e.nodes.filter($=>o.has($.id)),i=t.signIn.session.value?.auth!=="off",{command:c,files:u,local:d}=Ht({nodes:r,auth:i,config:a.value.value??""}),p=a.value.value!==null;return l`<${me} title="Add a node" onClose=${s}><div class="asks">
<p>Start cordwood on another machine. Replace NAME with its own name, and ADDRESS with the address at which the other nodes reach it.
The machine needs ${u.map(($,m)=>l`${m>0&&(m<u.length-1?", ":" and ")}${$===je&&"the secret of the cluster as "}<code>${$}</code>`)}.</p>
${d&&l`<p class="wrong" data-ui="seeds-local">Other machines cannot reach ${d}. Start the new node on this machine with other ports, or restart these nodes with an address of the network first (--rpc-addr).</p>`}
${!p&&a.error.value&&l`<p class="wrong" data-ui="settings-unknown">The settings of this node are not known: ${a.error.value.message} Start the new node with the same flags for users, TLS and object storage as these nodes.</p>`}
<pre class="asked" data-ui="add-node-command">${c}</pre>
${i&&l`<p>Users have their rights on the new node only with <code>--auth=on</code>: without it, everybody who reaches its port may do everything.</p>`}
<p role="status" data-ui="joined">${n.length===0?l`<span class="dot waiting"></span> Waiting for it to join…`:`${n.map($=>$.name).join(", ")} joined.`}</p>
<p class="acts"><button class="button main" disabled=${!p&&!a.error.value} onClick=${()=>V(c)}>Copy</button><button class="button" onClick=${s}>Close</button></p></div><//>`}function Qt({stores:e,onClose:t}){let{operations:s,health:o}=e;Je(()=>{s.clear(),s.loadPlan()},[]);let a=s.plan.value.value;async function n(r){s.start.since.value>0||await s.begin({kind:r})&&(ae(s.start.value.value?.message||"Started."),await o.load(),t())}return l`<${me} title="Rebalance" onClose=${t}><div class="asks">
<${O} latest=${s.plan} what="Asking for the plan" />
${!a&&!s.plan.error.value&&l`<p class="quiet" role="status">Asking what would move…</p>`}
${a&&a.moves.length===0&&l`<p>Nothing would move: ${(a.even||"the nodes are even").replace(/\.$/,"")}.</p>`}
${a&&a.moves.length>0&&l`<p>${a.moves.length} replicas would move, ${x(a.moves.reduce((r,i)=>r+i.bytes,0))}.</p>
<div class="wide-table"><table><thead><tr><th>shard</th><th>from</th><th>to</th><th class="r">bytes</th><th>why</th></tr></thead><tbody>${a.moves.map(r=>l`<tr><td>${r.shard}</td><td>${r.from}</td><td>${r.to}</td><td class="r">${x(r.bytes)}</td><td>${r.reason}</td></tr>`)}</tbody></table></div>`}
${a?.blocked.map(r=>l`<p class="wrong">${r}</p>`)}
<${O} latest=${s.start} what="Beginning it" />
<p class="acts"><button class="button main" data-ui="confirm" disabled=${!a||a.moves.length===0} onClick=${()=>n("rebalance")}>Begin</button>
${a&&l`<button class="button" data-ui="pause" onClick=${()=>n(a.paused?"rebalance-resume":"rebalance-pause")}>${a.paused?"Resume it":"Pause it"}</button>`}
<button class="button" onClick=${t}>Close</button></p></div><//>`}function Xt({health:e,failure_tolerance:t,limited_by:s}){return t<0?s?`Too much has failed: ${s} does not work.`:"Something does not work.":e==="starting"?"The first shards are being created.":t===0?`If one ${e==="ok"?"":"more "}node fails, ${s} stops.`:`Any ${t===1?"one node":`${t} nodes`} can fail: nothing stops, and no row is lost.`}function Zt(e,t,s){let o=e.requested_by&&`requested by ${e.requested_by==="cluster"?"the cluster":e.requested_by}`;if(e.state!=="running"){let n=e.ended??e.updated,r=Date.parse(n)-Date.parse(e.created);return[`${e.state} ${Sa(n,t,s)}`,r>=1e3&&`took ${z(r)}`,e.reason,o].filter(Boolean).join(" \xB7 ")}let a=e.total_bytes>0&&`${x(e.done_bytes)} of ${x(e.total_bytes)}`;return[`step ${e.step}`,a,e.eta_seconds&&`${z(e.eta_seconds*1e3)} left`,e.reason,o].filter(Boolean).join(" \xB7 ")}function Sa(e,t,s){let o=Math.max(0,t-Date.parse(e));return o<1e3?"just now":o<864e5?`${z(o)} ago`:`at ${q(e,s)} (${s})`}function es(e){let t=e.to_shards?.length?` to shards ${e.to_shards.join(", ")}`:"";switch(e.kind){case"shard-move":return`Move shard ${e.shard}${e.from?` from ${e.from}`:""}${e.to?` to ${e.to}`:""}`;case"replica-change":return`Give shard ${e.shard} ${e.replicas} replicas`;case"replica-rebuild":return`Rebuild the replica of shard ${e.shard}${e.node?` on ${e.node}`:""}`;case"table-move":return`Move table ${e.table}${t}`;case"table-partition":return`Partition table ${e.table}${t}`;case"shard-add":return"Add shards";case"shard-remove":return`Remove shard ${e.shard}`;case"rebalance":return"Rebalance";case"node-drain":case"node-undrain":case"node-decommission":case"node-remove":return`${{"node-drain":"Drain","node-undrain":"Undrain","node-decommission":"Decommission","node-remove":"Forget"}[e.kind]} ${e.subject.replace(/^node /,"")}`;default:return`${e.kind.replaceAll("-"," ")} ${e.subject}`.replace(/^./,s=>s.toUpperCase())}}function ts(e){if(e.length<2)return e;let[t,...s]=e,o=0;for(;o<t.length&&s.every(n=>n[o]===t[o]);)o++;let a=Math.max(t.lastIndexOf("-",o-1),t.lastIndexOf(".",o-1))+1;return a<4?e:e.map(n=>`\u2026${n.slice(a)}`)}function ss({operations:e,stores:t,may:s}){let{cancelling:o}=t.operations,a=he(1e3),n=t.prefs.zone.value;return l`<${O} latest=${o} what="Cancelling" />
${e.length===0&&l`<p class="quiet none">No operation is running or stored.</p>`}
<ul class="ops">${e.map(r=>{let i=r.state==="running";return l`<li data-ui="operation" data-state=${r.state} key=${r.id}><h3>${es(r)}${i&&s&&l`<${Oa} operation=${r} stores=${t} />`}</h3>
${i&&r.total_bytes>0&&l`<div class="bar" style=${{"--p":`${r.done_bytes/r.total_bytes*100}%`}}></div>`}<p>${Zt(r,a,n)}</p></li>`})}</ul>`}function Oa({operation:e,stores:t}){return e.cancel?l`<span class="text">being cancelled</span>`:l`<button class="text" data-ui="cancel" onClick=${()=>t.operations.cancel(e.id).then(()=>t.health.load())}>Cancel</button>`}function as({stores:e}){let t=Math.floor((he(1e3)-e.health.answered.value)/1e3);return l`<span class="quiet" data-ui="refreshed">refreshed ${t<1?"just now":`${t} s ago`}</span>`}function ns(e){let t=()=>Ea(e.querySelector(".panel"),e.getBoundingClientRect());return t(),addEventListener("scroll",t,!0),addEventListener("resize",t),()=>{removeEventListener("scroll",t,!0),removeEventListener("resize",t)}}function Ea(e,t){e.style.position="fixed";let{width:s,height:o}=e.getBoundingClientRect(),{clientWidth:a,clientHeight:n}=document.documentElement,r=t.bottom+4,i=r+o+12>n?Math.max(12,t.top-o-4):r,c=Math.max(12,Math.min(t.left,a-s-12));Object.assign(e.style,{top:`${i}px`,left:`${c}px`,right:"auto"})}function os({nodes:e}){return l`<div class="wide-table" tabindex="0" role="region" aria-label="Nodes"><table><thead><tr><th>node</th><th>state</th><th class="opt">roles</th><th class="opt">metadata</th><th>disk used</th><th class="r opt">disk size</th><th class="r">replicas</th><th class="r">leads</th><th class="r opt" title="The rows of its replicas, and their logs">rows and logs</th><th class="opt">version</th></tr></thead>
<tbody>${e.map(t=>l`<${Ca} key=${t.id} node=${t} />`)}</tbody></table></div>`}var rs=["down","silent","stopped"],Ra=85;function Ca({node:e}){let t=e.disk_capacity>0?e.disk_used/e.disk_capacity*100:0,s=rs.includes(e.state)&&` for ${z(e.silent_seconds*1e3)}`;return l`<tr data-ui="node"><td>${e.name}</td>
<td><span class=${e.state==="up"?"ok":"bad"}>${e.state}</span>${s}</td>
<td class="opt">${e.roles.join(" ")}</td><td class="opt">${e.meta}</td>
<td>${e.disk_capacity>0&&l`<span class=${`disk ${t>Ra?"full":""}`} style=${{"--p":`${t.toFixed(0)}%`}}></span><span title=${`${x(e.disk_used)} of ${x(e.disk_capacity)}`}>${t.toFixed(0)} %</span>`}</td>
<td class="r opt">${e.disk_capacity>0&&x(e.disk_capacity)}</td><td class="r">${y(e.replicas)}</td><td class="r">${y(e.leads)}</td>
<td class="r opt">${x(e.bytes??0)}</td><td class="opt">${e.version}</td></tr>`}function ls({state:e,onDo:t}){let s=e.nodes.filter(a=>a.roles.includes("shard")),o=ts(s.map(a=>a.name));return l`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>${s.map((a,n)=>l`<th title=${a.name}>${o[n]}</th>`)}<th class="r opt">lag</th><th class="r opt" title="The rows of its largest replica, without the log">size of rows</th><th>state</th></tr></thead>
<tbody>${e.shards.map(a=>l`<tr key=${a.id}><td>shard ${a.id}</td>${s.map(n=>{let[r,i,c]=_a(a,n),u=`shard ${a.id} on ${n.name}: ${i}`;return l`<td class=${c} data-ui="shard-cell" title=${u}>${t&&r!=="\xB7"?l`<${Aa} letter=${r} says=${u} shard=${String(a.id)} node=${n.name} onDo=${t} />`:r}</td>`})}<td class="r opt">${y(a.lag)}</td><td class="r opt">${x(a.bytes)}</td><td><span class=${a.state==="ok"?"":"bad"}>${a.state}</span></td></tr>`)}</tbody></table></div>`}function Aa({letter:e,says:t,shard:s,node:o,onDo:a}){return l`<${ie} button=${l`<span aria-hidden="true">${e}</span><span class="hidden">${t}</span>`} label=${t} class="cell" place=${ns}>${n=>{let r=(i,c)=>{n(),a(i,c)};return l`<p class="quiet">${t}</p><button class="choice" data-ui="cell-move" onClick=${()=>r("shard-move",{shard:s,from:o})}>Move to another node…</button>
<button class="choice" data-ui="cell-rebuild" onClick=${()=>r("rebuild",{shard:s,node:o})}>Rebuild…</button>`}}<//>`}function _a(e,{name:t,state:s}){return(e.replicas.includes(t)||e.learners.includes(t))&&rs.includes(s)?["!",`has a replica, and does not answer: the node is ${s}`,"x"]:e.unready.includes(t)?["c","has a replica that is not up to date yet","c"]:e.leader===t?["L","leads","L"]:e.learners.includes(t)?["c","is catching up","c"]:e.replicas.includes(t)?["r","has a replica","p"]:["\xB7","has none",""]}function Da({stores:e}){let{health:t,signIn:s,operations:o,place:a}=e;G(a.page.value==="cluster"?B(a.here.value.params,{}):[]),k(()=>{document.title="Cluster \xB7 cordwood";let m=()=>{document.visibilityState==="visible"&&(t.load(),o.loadList())};o.loadList();let f=setInterval(m,2e3);return()=>clearInterval(f)},[t]);let[n,r]=w({id:"",given:{}}),i=t.value.value;if(!i)return l`<h1 class="hidden">Cluster</h1><${O} latest=${t} what="Asking for the state of the cluster" />`;let c=i.health==="ok",u=t.error.value!==null,d=s.canManage.value,p=((m,f={})=>{m==="cancel"?o.cancel(Number(f.operation)).then(()=>t.load()):r({id:m,given:f})}),$=()=>r({id:"",given:{}});return l`<div class="scrolled">
<div class="state"><h1>${u?"The state of the cluster is not known":c?"The cluster is healthy":l`The cluster is <i class=${i.health}>${i.health}</i>`}</h1>
<span class="quiet" data-ui=${u?"known-since":"tolerance"}>${u?`What follows was so at ${Oe(t.answered.value,e.prefs.zone.value).time} (${e.prefs.zone.value}).`:Xt(i)}</span></div>
<${O} latest=${t} what="Asking for the state of the cluster" />
${i.problems.map(m=>l`<${Na} problem=${m} onDo=${d?p:null} />`)}
<div class="cols"><section class="pane" aria-label="Nodes and shards">
<h2 class="head">Nodes<span class="grow"></span>${d&&l`<${is} group="nodes" first=${{"add-node":"Add a node\u2026",drain:"Drain a node\u2026"}} onDo=${p} />`}</h2>
<${os} nodes=${i.nodes} />
<h2 class="head">Shards<span class="grow"></span><span class="quiet wide">L leads, r replica, c catching up, ! does not answer</span>${d&&l`<${is} group="shards" first=${{"shard-move":"Move a replica\u2026",rebalance:"Rebalance\u2026"}} onDo=${p} />`}</h2>
<${ls} state=${i} onDo=${d?p:null} /></section>
<section class="pane" aria-label="Operations"><h2 class="head">Operations<span class="grow"></span><${as} stores=${e} /></h2>
<${ss} operations=${o.list.value.value??i.operations} stores=${e} may=${d} /></section>
</div></div>
${n.id==="add-node"&&l`<${Yt} state=${i} stores=${e} onClose=${$} />`}
${n.id==="rebalance"&&l`<${Qt} stores=${e} onClose=${$} />`}
${we.some(m=>m.id===n.id)&&l`<${Jt} id=${n.id} given=${n.given} state=${i} stores=${e} onClose=${$} />`}`}function Na({problem:e,onDo:t}){let s=t?Kt(e):[];return l`<div class=${`problem ${e.severity??""}`}><p><b>${Ye(e.text)}</b> ${Ye(e.advice)}</p>
${s.length>0&&l`<div class="offers">${s.map(({name:o,act:a,given:n})=>l`<button class="button" data-ui=${`mend-${a}`} onClick=${()=>t?.(a,n)}>${o}</button>`)}</div>`}</div>`}function is({group:e,first:t,onDo:s}){let o=we.filter(a=>a.group===e&&!(a.id in t)).map(({id:a,name:n})=>[a,n]);return l`${Object.entries(t).map(([a,n])=>l`<button class="text wide" data-ui=${a} onClick=${()=>s(a)}>${n}</button>`)}
<${ie} button=${l`<span>More</span><span class="caret"></span>`} label=${`What can be done to ${e}`} ui=${`${e}-acts`} class="text change">${a=>[...Object.entries(t),...o].map(([n,r])=>l`<button class=${`choice ${n in t?"narrow-only":""}`} data-ui=${`do-${n}`} onClick=${()=>{a(),s(n)}}>${r}</button>`)}<//>`}var Ue=(e,t)=>t.map(s=>[s,`${s}, ${e}`]),cs=[...Ue("on tables",["SELECT","INSERT, CREATE","ALTER","DROP","DELETE"]),...Ue("on pipelines",["USE","READ","WRITE"]),...Ue("on the cluster",["MONITOR","OPERATE","BACKUP","RESTORE","ACCESS","AUDIT"]),...Ue("on any of these",["ALL"])],ds=[["ingest","send rows"],["query","read rows"]],us=["30d","90d","365d","NEVER"],ps={createUser:{name:"New user\u2026",says:"A new user can sign in, and has no rights. The password has at least 12 bytes.",asks:[["name","Name","text"],["password","Password","password"]],statement:(e,{name:t,password:s})=>`CREATE USER ${E(t)} PASSWORD ${I(s)}`},password:{name:"New password\u2026",says:"Open sessions and connections of the user end. The password has at least 12 bytes.",asks:[["password","New password","password"]],statement:(e,{password:t})=>`ALTER USER ${E(e)} PASSWORD ${I(t)}`},ownPassword:{name:"Change my password\u2026",says:"Your other sessions and connections end. The password has at least 12 bytes.",asks:[["old","Current password","password"],["password","New password","password"]],statement:(e,{old:t,password:s})=>`ALTER USER CURRENT_USER PASSWORD ${I(s)} OLD ${I(t)}`},disable:{name:"Disable\u2026",says:"The user cannot sign in until somebody enables the user again. What the user has open ends.",asks:[],statement:e=>`ALTER USER ${E(e)} DISABLED`},enable:{name:"Enable\u2026",says:"The user can sign in again.",asks:[],statement:e=>`ALTER USER ${E(e)} ENABLED`},dropUser:{name:"Drop the user\u2026",says:"What the user has open ends, and so do the tokens that have the rights of the user. This cannot be undone.",asks:[],statement:e=>`DROP USER ${E(e)}`,typed:!0},createRole:{name:"New role\u2026",says:"A role is a named set of grants and of other roles.",asks:[["name","Name","text"]],statement:(e,{name:t})=>`CREATE ROLE ${E(t)}`},dropRole:{name:"Drop the role\u2026",says:"Users lose the rights that they have by this role only.",asks:[],statement:e=>`DROP ROLE ${E(e)}`,typed:!0},grant:{name:"Grant\u2026",says:"On a table: app.logs, app.logs_* or app.*. On a pipeline: PIPELINE nginx. On the cluster: CLUSTER.",asks:[["privileges","Privileges","privileges"],["on","On","target"]],statement:(e,t)=>`GRANT ${t.privileges} ON ${t.on} TO ${E(e)}`},grantRole:{name:"Grant a role\u2026",says:"The user gets all rights of the role.",asks:[["role","Role","role"]],statement:(e,{role:t})=>`GRANT ${E(t)} TO ${E(e)}`},revoke:{name:"Revoke\u2026",says:"Open requests, tails and connections that need this right end.",asks:[],statement:e=>nt(e)},createToken:{name:"New token\u2026",says:"A token to ingest can only send rows. A token to query can only read. The target is a table or a pattern: app.logs, app.*.",asks:[["name","Name","text"],["scope","May","scope"],["on","Table, or a pattern","target"],["expires","Expires in","lifetime"],["note","Note","text?"]],statement:(e,{name:t,scope:s,on:o,expires:a,note:n})=>`CREATE TOKEN ${E(t)} FOR ${s==="query"?"QUERY ON":"INGEST INTO"} ${o} EXPIRES ${a==="NEVER"?"NEVER":`IN ${I(a)}`}${n?` NOTE ${I(n)}`:""}`},rotate:{name:"Rotate\u2026",says:"The token gets a new secret. The old one remains valid for 24 hours.",asks:[],statement:e=>`ALTER TOKEN ${E(e)} ROTATE`},dropToken:{name:"Drop the token\u2026",says:"Programs that use the token are refused at once. This cannot be undone.",asks:[],statement:e=>`DROP TOKEN ${E(e)}`,typed:!0}},ms={pattern:"(PIPELINE |DATABASE |TABLE )?[A-Za-z0-9_.*$@:\\-]+",title:"write a name such as app.logs, or a pattern such as app.*"};function nt(e){let t=/^GRANT (.+) TO ("(?:[^"]|"")*"|[^\s"]+)( WITH GRANT OPTION)?$/s.exec(e);return t?`REVOKE ${t[1]} FROM ${t[2]}`:""}function $s(e,t){let s={...t};for(let[o,,a]of e.asks)(a==="password"||s[o]===""&&!a.endsWith("?"))&&(s[o]="\u2026");return s}function hs(e,{tables:t,pipelines:s}){let[,o,a]=/^(PIPELINE |DATABASE |TABLE )?(.*)$/.exec(e)??[];if(!a||a.includes("*")||e==="CLUSTER")return"";if(o==="PIPELINE ")return s.includes(a)?"":`There is no pipeline ${a} yet.`;if(o==="DATABASE ")return t.some(i=>i.db===a)?"":`There is no table in a database ${a} yet.`;let[n,r]=a.includes(".")?[a.slice(0,a.indexOf(".")),a.slice(a.indexOf(".")+1)]:["public",a];return t.some(i=>i.db===n&&i.name===r)?"":`There is no table ${n}.${r} yet.`}function fs(e,{scope:t,on:s},o){let a=s.replace(/^(TABLE|DATABASE) /,"").split("."),[n,r]=s.startsWith("DATABASE ")?[a[0],"*"]:a.length>1?a:["public",a[0]],[i,c]=[n.replace("*","public"),r.replace("*","app")],u=`-H ${se(`Authorization: Bearer ${o}`)}`;if(t==="query"){let p=r.includes("*")?"SHOW TABLES":`SELECT * FROM ${E(c)} LIMIT 10`;return`curl ${se(`${e}/v1/sql?${new URLSearchParams({db:i,format:"ndjson"})}`)} ${u} \\
     --data-urlencode ${se(`sql=${p}`)}`}let d=new URLSearchParams({db:i,table:c,pipeline_name:"svc_identity"});return`curl ${se(`${e}/v1/ingest?${d}`)} ${u} \\
     -H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"}]'`}var ue=200,bs=["ACCESS","CLUSTER"];function vs(e,t){let s=T(t),o=T(t),a=T(t),n=T(t),r=T(t,{once:!0});async function i(c,u,d,p){let{columns:$,rows:m}=await e.sql(c,{signal:u,need:d,secret:p});return m.map(f=>Object.fromEntries($.map((h,b)=>[h.name,String(f[b]??"")])))}return{users:s,roles:o,tokens:a,grants:n,action:r,loadUsers:c=>s.run(u=>i(`SHOW USERS${gs(c)} LIMIT ${ue}`,u,bs)),loadRoles:()=>o.run(c=>i("SHOW ROLES LIMIT 1000",c,bs)),loadTokens:c=>a.run(u=>i(`SHOW TOKENS${gs(c)} LIMIT ${ue}`,u)),loadGrants:c=>n.run(async u=>(await e.sql(`SHOW GRANTS FOR ${E(c)}`,{signal:u})).rows.map(d=>String(d[0])),c),async change(c,u){return await r.run(d=>i(c,d,void 0,u)),r.error.value?null:r.value.value}}}function gs(e){let t=e.trim();return t?` LIKE ${I(`%${t}%`)}`:""}function We({name:e,says:t,asks:s,choices:o,patterns:a={},proposals:n={},remark:r,initial:i={},word:c="",statement:u,latest:d,onRun:p,onClose:$,children:m}){let[f,h]=w(()=>({...Object.fromEntries(s.map(([v,,R])=>[v,R==="column"?"":[o[R]?.[0]??""].flat()[0]])),...i})),b=e.replace("\u2026","");return l`<${Te} title=${b} word=${c} action=${c?b:"Run it"} busy=${d.since.value>0} onYes=${()=>d.since.value>0||p(f)}
onClose=${()=>{d.error.value=null,$()}}>
<p>${t}</p>
${m}
${s.map(([g,v,R])=>l`<label>${v}<${La} name=${g} label=${v} kind=${R} choices=${o[R]} pattern=${a[R]} proposals=${n[R]} value=${f[g]} onValue=${ee=>h({...f,[g]:ee})} /></label>`)}
${r?.(f)&&l`<p class="quiet" role="status" data-ui="form-remark">${r(f)}</p>`}
<pre class="asked">${u(f)}</pre>
<${O} latest=${d} what="The statement" inForm /><//>`}function La({name:e,label:t,kind:s,choices:o,pattern:a,proposals:n,value:r,onValue:i}){let[c,u]=w(!1),d=$t(),p=$=>i($.currentTarget.value);if(!o){let[$,m]=s==="password"?[c?"text":"password","new-password"]:["text","off"],f=l`<input required=${s!=="text?"} type=${$} data-ui=${`ask-${e}`} aria-label=${s==="password"?t:void 0} autocomplete=${m} spellcheck=${!1} pattern=${a?.pattern} title=${a?.title} list=${n?d:void 0} value=${r} onInput=${p} />
${n&&l`<datalist id=${d}>${n.map(h=>l`<option value=${h}></option>`)}</datalist>`}`;return s!=="password"?f:l`<span class="password">${f}<button type="button" class="text" data-ui=${`show-${e}`} aria-pressed=${c} onClick=${()=>u(!c)}>${c?"Hide":"Show"}</button></span>`}return l`<select required data-ui=${`ask-${e}`} value=${r} onChange=${p}>${s==="column"&&l`<option value="">Choose</option>`}${o.map($=>[$].flat()).map(([$,m=$])=>l`<option value=${$}>${m}</option>`)}</select>`}function ws({stores:e}){let{access:t}=e,[s,o]=w(null),[a,n]=w(""),[r,i]=w(""),[c,u]=w(null);k(()=>{d()},[a]),k(()=>{t.loadRoles()},[]);async function d(){await Promise.all([t.loadUsers(a),t.loadTokens(a)])}function p(b){i(b===r?"":b),b!==r&&t.loadGrants(b)}async function $(b,g,v){let R=await t.change(b,b!==g);R&&(o(null),R[0]?.Token?u({of:R[0],values:v}):ae(`Done: ${g}`),await Promise.all([d(),t.loadRoles(),r&&t.loadGrants(r)]))}let m=(b,g="")=>o({id:b,target:g}),f=e.signIn.session.value?.auth==="token",h=t.users.error.value?.status!==403;return l`<section aria-label="Users and tokens"><h2 class="head">${h?"Users and tokens":"My tokens"}<span class="grow"></span>
${!f&&l`<button class="text" data-ui="own-password" onClick=${()=>m("ownPassword")}>Change my password…</button>`}
<input class="find" type="search" placeholder="Find a name" aria-label="Find a name" value=${a} onInput=${b=>n(b.currentTarget.value)} /></h2>
${h&&l`<${Pa} access=${t} onAct=${m} onGrants=${p} grantsOf=${r} />`}
${h&&l`<${qa} access=${t} onAct=${m} onGrants=${p} grantsOf=${r} />`}
<${ja} access=${t} onAct=${m} />
${s&&l`<${Ma} key=${`${s.id} ${s.target}`} id=${s.id} target=${s.target} stores=${e} onRun=${$} onClose=${()=>o(null)} />`}
${c&&l`<${Ua} ...${c} onClose=${()=>u(null)} />`}</section>`}function Pa({access:e,onAct:t,onGrants:s,grantsOf:o}){let a=e.users.value.value??[];return l`<${Fe} title="Users" latest=${e.users}><button class="text" data-ui="new-user" onClick=${()=>t("createUser")}>New user…</button><//>
${a.length>0&&l`<div class="wide-table" tabindex="0" role="region" aria-label="Users"><table class="principals"><thead><tr><th>name</th><th>roles</th><th>state</th><th>valid until, UTC</th><td></td></tr></thead>
<tbody>${a.map(n=>{let r=!n.State.startsWith("disabled");return l`<tr key=${n.User} data-ui="user" data-name=${n.User}><td><b>${n.User}</b></td><td>${n.Roles}</td><td>${n.State}</td><td>${ot(n["Valid until"])}</td>
<td class="r"><${Y} what="Grants" of=${n.User} expanded=${o===n.User} onDo=${()=>s(n.User)} />
<${Y} what="Password…" of=${n.User} onDo=${()=>t("password",n.User)} />
<${Y} what=${r?"Disable\u2026":"Enable\u2026"} of=${n.User} onDo=${()=>t(r?"disable":"enable",n.User)} />
<${Y} what="Drop…" of=${n.User} onDo=${()=>t("dropUser",n.User)} /></td></tr>
${o===n.User&&l`<${ys} of=${n.User} span=${5} access=${e} onAct=${t} />`}`})}</tbody></table></div>`}`}function qa({access:e,onAct:t,onGrants:s,grantsOf:o}){let a=e.roles.value.value??[];return l`<${Fe} title="Roles" latest=${e.roles}><button class="text" data-ui="new-role" onClick=${()=>t("createRole")}>New role…</button><//>
${a.length>0&&l`<div class="wide-table" tabindex="0" role="region" aria-label="Roles"><table class="principals"><thead><tr><th>name</th><th>roles</th><th>state</th><td></td><td></td></tr></thead>
<tbody>${a.map(n=>{let r=n.State==="built in";return l`<tr key=${n.Role} data-ui="role" data-name=${n.Role}><td><b>${n.Role}</b></td><td>${n.Roles}</td><td>${n.State}</td><td></td>
<td class="r"><${Y} what="Grants" of=${n.Role} expanded=${o===n.Role} onDo=${()=>s(n.Role)} />
${!r&&l`<${Y} what="Drop…" of=${n.Role} onDo=${()=>t("dropRole",n.Role)} />`}</td></tr>
${o===n.Role&&l`<${ys} of=${n.Role} span=${5} access=${e} onAct=${t} />`}`})}</tbody></table></div>`}`}function Y({what:e,of:t,expanded:s,onDo:o}){return l`<button class="text" aria-label=${`${e} ${t}`} aria-expanded=${s} onClick=${o}>${e}</button>`}function ys({of:e,span:t,access:s,onAct:o}){return l`<tr class="grants-of"><td colspan=${t}><${Ia} of=${e} access=${s} onAct=${o} /></td></tr>`}function Ia({of:e,access:t,onAct:s}){let o=t.grants.value.value;return l`<${Fe} title=${`Grants of ${e}`} latest=${t.grants}><button class="text" data-ui="grant" onClick=${()=>s("grant",e)}>Grant…</button>
<button class="text" data-ui="grant-role" onClick=${()=>s("grantRole",e)}>Grant a role…</button><//>
${o&&l`<div class="wide-table" tabindex="0" role="region" aria-label=${`Grants of ${e}`}><table><tbody>${o.map(a=>l`<tr key=${a} data-ui="granted"><td class="mono">${a}</td><td class="r">${nt(a)&&l`<${Y} what="Revoke…" of=${a} onDo=${()=>s("revoke",a)} />`}</td></tr>`)}</tbody></table></div>`}
${o?.length===0&&l`<p class="quiet none">${e} has no grants.</p>`}`}function ja({access:e,onAct:t}){let s=e.tokens.value.value??[];return l`<${Fe} title="Tokens" latest=${e.tokens}><button class="text" data-ui="new-token" onClick=${()=>t("createToken")}>New token…</button><//>
${s.length>0&&l`<div class="wide-table" tabindex="0" role="region" aria-label="Tokens"><table><thead><tr><th>name</th><th>scope</th><th>state</th><th>expires, UTC</th><th>last used, UTC</th><th>note</th><td></td></tr></thead>
<tbody>${s.map(o=>l`<tr key=${o.Id} data-ui="token" data-name=${o.Token}><td><b>${o.Token}</b><small>cw_${o.Id}</small></td><td class="mono">${o.Scope}</td><td>${o.State}</td>
<td>${ot(o.Expires)||"never"}</td><td title=${o["Last address"]}>${ot(o["Last used"])}</td><td>${o.Note}</td>
<td class="r"><${Y} what="Rotate…" of=${o.Token} onDo=${()=>t("rotate",o.Token)} /><${Y} what="Drop…" of=${o.Token} onDo=${()=>t("dropToken",o.Token)} /></td></tr>`)}</tbody></table></div>`}`}function Fe({title:e,latest:t,children:s}){let o=t.value.value?.length??0;return l`<h3 class="head">${e}<span class="quiet">${o>=ue&&`the first ${ue}`}</span><span class="grow"></span>${s}</h3>
<${O} latest=${t} what=${`Asking for ${e.toLowerCase()}`} />`}function Ma({id:e,target:t,stores:s,onRun:o,onClose:a}){let{access:n,tables:r,pipelineList:i}=s,c=ps[e];k(()=>{i.load()},[]);let u={tables:r.all.value,pipelines:(i.list.value.value??[]).map(g=>g.name)},d=u.tables.filter(g=>g.db!=="svc_private").map(g=>`${g.db}.${g.name}`),p=e==="grant"?[...u.pipelines.map(g=>`PIPELINE ${g}`),"CLUSTER"]:[],$=["public.*",...d.slice(0,ue),...p],m=r.latest.value.value!==null&&i.list.value.value!==null,f=g=>m&&g.on?hs(g.on,u):"",h=(n.roles.value.value??[]).map(g=>g.Role).filter(g=>g!==t),b=g=>c.statement(t,$s(c,g));return l`<${We} name=${c.name} says=${c.says} asks=${c.asks} word=${c.typed?t:""}
choices=${{privileges:cs,role:h,scope:ds,lifetime:us}} patterns=${{target:ms}} proposals=${{target:$}} remark=${f} initial=${{expires:"90d"}}
statement=${b} latest=${n.action} onRun=${g=>o(c.statement(t,g),b(g),g)} onClose=${a} />`}function Ua({of:e,values:t,onClose:s}){let o=t.on?fs(location.origin,t,e.Token):"",a=xe(!1),[n,r]=w(!1),i=()=>a.current?s():r(!0);async function c(u){a.current=await V(u)||a.current,r(n&&!a.current)}return l`<${me} title=${`Token ${e.Name}`} onClose=${i} stays>
<div onCopy=${()=>a.current=!0}><p>Copy the token now: the server stores only its hash and cannot show it again.</p>
<pre class="asked" data-ui="secret">${e.Token}</pre>
${o&&l`<p>A command that ${t.scope==="query"?"reads":"sends a row"} with it:</p><pre class="asked" data-ui="token-command" tabindex="0">${o}</pre>`}
<p class="acts"><button class="button main" data-ui="secret-copy" onClick=${()=>c(e.Token)}>Copy</button>${o&&l`<button class="button" onClick=${()=>c(o)}>Copy the command</button>`}<button class="button" data-ui="secret-done" onClick=${i}>Done</button></p>
${n&&l`<p class="wrong" role="alert" data-ui="secret-asks">The token is not copied yet. <button class="text go" data-ui="secret-close" onClick=${s}>Close without it</button></p>`}</div><//>`}var ot=e=>e.slice(0,16).replace("T"," ");function Wa({stores:e}){let{prefs:t,signIn:s,place:o}=e;G(o.page.value==="settings"?B(o.here.value.params,{}):[]),k(()=>{document.title="Settings \xB7 cordwood"},[]);let a=s.session.value;return l`<div class="scrolled settings"><div class="state"><h1>Settings</h1><span class="quiet">The choices in the first part are stored in this browser.</span></div>
<section aria-label="This browser"><h2 class="head">This browser</h2>
<${ze} label="Theme" value=${t.theme} choices=${{system:"System",light:"Light",dark:"Dark"}} />
<${ze} label="Times" value=${t.zone} choices=${Ba()} ui="zone" />
<${ze} label="Height of rows" value=${t.density} choices=${{dense:"Dense, 20 px",normal:"Normal, 24 px",comfortable:"Comfortable, 28 px"}} />
<${ze} label="Single keys" value=${t.singleKeys} choices=${{on:"On",off:"Off: only keys with Ctrl"}} />
<label class="setting"><span>First table</span><span><select data-ui="first-table" value=${t.table.value} onChange=${n=>t.table.value=n.currentTarget.value}><option value="">the one with the most rows</option>${e.tables.all.value.filter(n=>n.db==="public").map(n=>l`<option value=${n.name}>${n.name}</option>`)}</select> <span class="quiet">the table that you opened last, unless you choose another</span></span></label>
<${Fa} stores=${e} />
<div class="setting"><span>Earlier searches</span><span>${y(t.history.value.length)} in this browser ${t.history.value.length>0&&l`<button class="text go" onClick=${()=>t.history.value=[]}>Forget them</button>`}</span></div>
</section>
<section aria-label="User"><h2 class="head">User</h2>
<div class="setting"><span>Signed in as</span><span>${a?.auth==="off"?"This server has no users: everybody may do everything.":l`<b>${a?.user??""}</b>${a?.auth==="token"&&", by a token"}`}</span></div>
${a&&a.auth!=="off"&&l`<${za} api=${e.api} user=${a.user} />`}
${s.user.value&&l`<div class="setting"><span></span><button class="button" data-ui="sign-out" onClick=${()=>s.leave().then(()=>location.reload())}>Sign out</button></div>`}
</section>
${a&&a.auth!=="off"&&l`<${ws} stores=${e} />`}
<section aria-label="Server"><h2 class="head">Server</h2>
<div class="setting"><span>Node</span><span>${a?.server?.name}</span></div>
<div class="setting"><span>Version</span><span>${a?.server?.version}</span></div>
<${Ga} api=${e.api} />
</section></div>`}function Fa({stores:e}){let{prefs:t,tables:s,api:o}=e,a=s.all.value.filter(d=>d.db==="public"),[n,r]=w(t.table.value),[i]=w(()=>T(N)),c=Ce(t,"public",[n]),u=a.some(d=>d.name===n);return k(()=>{if(!u)return;let d={db:"public",tables:[n],...Ae(c)};i.run(p=>o.json({path:"/v1/explore/fields",body:d,signal:p}))},[n,u,c.message,c.level]),l`<label class="setting"><span>Columns of</span><select data-ui="roles-table" value=${u?n:""} onChange=${d=>r(d.currentTarget.value)}>
<option value="">a table</option>${a.map(d=>l`<option value=${d.name}>${d.name}</option>`)}</select></label>
<${O} latest=${i} what="Asking for the columns" />
${u&&i.value.value&&l`<${Rt} fields=${i.value.value.fields} roles=${c} onRole=${(d,p)=>t.roles.set(Re("public",[n]),{...c,[d]:p})} />`}`}function za({api:e,user:t}){let[s]=w(()=>T(N));k(()=>{s.run(a=>e.json({path:"/v1/access/whoami",signal:a}),t)},[t]);let o=s.value.value;return l`<${O} latest=${s} what="Asking for your rights" />
${o&&l`<div class="setting" data-ui="own-grants"><span>May</span><span>${o.grants.length===0?"nothing yet: an administrator can grant rights.":l`<ul class="mono">${o.grants.map(a=>l`<li>${a}</li>`)}</ul>`}${o.ingest_only&&l`<p class="quiet">This token only sends rows.</p>`}</span></div>`}`}function Ba(){return Object.fromEntries([...new Set([yt,"UTC"])].map(e=>[e,e==="UTC"?"UTC":`${e}, the browser's`]))}function ze({label:e,value:t,choices:s,ui:o}){return l`<div class="setting" role="radiogroup" aria-label=${e} data-ui=${o}><span>${e}</span><span class="choices-in-line">${Object.entries(s).map(([a,n])=>l`<label><input type="radio" name=${e} value=${a} checked=${t.value===a} onChange=${()=>t.value=a} />${n}</label>`)}</span></div>`}function Ga({api:e}){let[t]=w(()=>T(N));return k(()=>{t.run(async s=>(await e.send({path:"/config",signal:s,need:["MONITOR","CLUSTER"]})).text())},[]),l`<div class="setting"><span>Started with</span><${O} latest=${t} what="Asking for the settings" />${t.value.value&&l`<pre tabindex="0" aria-label="Settings of the server">${t.value.value}</pre>`}</div>`}var Ha=["STRING","BIGINT","DOUBLE","BOOLEAN","TIMESTAMP(3)","TIMESTAMP(9)","JSON","BINARY"],ks=["ALTER","DROP","DELETE"],Va=["INVERTED","SKIPPING","FULLTEXT"],xs=[{id:"ttl",needs:["ALTER"],name:"Set how long rows are kept\u2026",says:"Older rows are removed automatically. Write 12h, 7d, 3M, 1y, or forever.",asks:[["ttl","ttl","text"]],statement:(e,{ttl:t})=>`ALTER TABLE ${e} SET 'ttl' = ${I(t)}`},{id:"column",needs:["ALTER"],name:"Add a column\u2026",says:"Existing rows have null in it.",asks:[["column","Name","text"],["type","Type","type"]],statement:(e,{column:t,type:s})=>`ALTER TABLE ${e} ADD COLUMN ${E(t)} ${s}`},{id:"index",needs:["ALTER"],name:"Add an index\u2026",says:"It applies to new rows. INVERTED is for values that repeat, SKIPPING for ids, FULLTEXT for words in texts.",asks:[["column","Column","column"],["index","Index","index"]],statement:(e,{column:t,index:s})=>`ALTER TABLE ${e} MODIFY COLUMN ${E(t)} SET ${s} INDEX`},{id:"rename",needs:["ALTER","DROP"],name:"Rename\u2026",says:"Senders that use the old name create a new table.",asks:[["to","New name","text"]],statement:(e,{to:t})=>`ALTER TABLE ${e} RENAME TO ${E(t)}`,gone:!0},{id:"truncate",needs:["DELETE"],name:"Remove all rows\u2026",says:"All rows are removed; columns and options stay. This cannot be undone.",asks:[],statement:e=>`TRUNCATE TABLE ${e}`,typed:!0},{id:"drop",needs:["DROP"],name:"Drop\u2026",says:"The table and all of its rows are removed. This cannot be undone.",asks:[],statement:e=>`DROP TABLE ${e}`,typed:!0,gone:!0}];function Ts(e,t,s){let o=De(e,ks.map(a=>[a,_e(t,s)]));return xs.filter(({needs:a})=>a.every(n=>o?.[ks.indexOf(n)]))}function Ss({id:e,db:t,name:s,info:o,fields:a,stores:n,onClose:r}){let{table:i,tables:c,place:u}=n,d=xs.find($=>$.id===e);async function p($){let m=d.statement(E(s),$);await i.change(t,m)&&(ae(`Done: ${m}`),r(),await c.load(),d.gone?u.set("tables",e==="rename"?{db:t,t:$.to}:{db:t},{db:"public"}):await i.load(t,s))}return l`<${We} name=${d.name} says=${d.says} asks=${d.asks} word=${d.typed?s:""}
choices=${{type:Ha,index:Va,column:a.map($=>$.name)}} initial=${{ttl:o?.ttl??"",to:s}}
statement=${$=>d.statement(E(s),$)} latest=${i.action} onRun=${p} onClose=${r}>
${d.typed&&o&&l`<p><b>${t}.${s}</b> ${o.sized?`has ${y(o.rows)} ${o.rows===1?"row":"rows"}, ${x(o.bytes)}`:"may have rows that you may not see"}.</p>`}<//>`}function Os({db:e,name:t,info:s,stores:o,onClose:a}){let{table:n,prefs:r,signIn:i}=o,[c,u]=w("");k(()=>{n.load(e,t)},[e,t]);let d=n.latest.value.value,p=r.zone.value,$=e==="svc_private"||e==="information_schema",m=Ts(i,e,t);return l`<section class="pane detail tabledetail" aria-label=${`Table ${e}.${t}`} data-ui="detail">
<div class="head"><h2 class="mono">${e}.${t}</h2><span class="grow"></span>
${!$&&m.length>0&&l`<${ie} button=${l`<span>Change</span><span class="caret"></span>`} label="Change the table" ui="table-actions" class="text change">${f=>m.map(({id:h,name:b})=>l`<button class="choice" data-ui=${`do-${h}`} onClick=${()=>{f(),u(h)}}>${b}</button>`)}<//>`}
<button class="text" aria-label="Close" onClick=${a}>✕</button></div>
<${Se} since=${n.latest.since.value} onCancel=${n.latest.cancel} />
<div class="scrolled">
${s&&l`<${Ja} info=${s} lastRow=${d?.fields?d.lastRow??"none":""} zone=${p} />`}
<p class="acts"><a class="text go" href=${H("explore",{db:e,t},{db:"public"})}>Explore</a>
<a class="text go" href=${H("tail",{db:e,t},{db:"public"})}>Tail</a>
<a class="text go" href=${H("sql",{db:e,q:`SELECT * FROM ${E(t)} LIMIT 100`},{db:"public"})}>SQL</a></p>
<${O} latest=${n.latest} what="Asking for the table" />
${d&&l`${d.refused.map(({what:f,error:h})=>l`<p class="quiet none" data-ui="refused">${f} not shown: ${h.message}</p>`)}
${d.fields&&l`<${Ya} fields=${d.fields} rows=${d.rows} />`}
${d.segments&&l`<${Qa} segments=${d.segments} zone=${p} />`}
${d.ddl!==null&&l`<${Ka} ddl=${d.ddl} />`}`}
</div>
${c&&l`<${Ss} id=${c} db=${e} name=${t} info=${s} fields=${d?.fields??[]} stores=${o} onClose=${()=>u("")} />`}
</section>`}function Ka({ddl:e}){return l`<h3 class="head">Statement<span class="grow"></span><button class="text" onClick=${()=>V(e)}>Copy</button></h3>
<pre class="ddl" data-ui="ddl">${Dt(e).map(t=>t.kind==="key"?l`<b>${t.text}</b>`:t.text)}</pre>`}function Ja({info:e,lastRow:t,zone:s}){let o=[["rows",e.sized&&y(e.rows)],["bytes",e.sized&&`${x(e.bytes)}${e.rows>0?`, ${x(e.bytes/e.rows)} a row`:""}`],["kept for",e.ttl||"forever"],["shards",e.shards.join(", ")],["newest row",/^\d/.test(t)?`${q(t,s)}, ${z(Math.max(0,Date.now()-new Date(t).getTime()))} ago`:t],["options",e.options]];return l`<dl>${o.map(([a,n])=>n&&l`<div><dt>${a}</dt><dd>${n}</dd></div>`)}</dl>`}function Ya({fields:e,rows:t}){return l`<h3 class="head">Columns<span class="quiet">${y(e.length)}; of the newest 1,000 rows: how many have a value</span></h3>
<div class="wide-table" tabindex="0" role="region" aria-label="Columns of the table"><table><thead><tr><th>name</th><th>type</th><th>index</th><th class="r">filled</th><th>newest values</th></tr></thead>
<tbody>${e.map(s=>{let o=[...new Set(t.map(a=>ft(a.v[s.name])).filter(Boolean))];return l`<tr><td>${s.name}${s.role&&l`<small>${s.role}</small>`}</td><td>${s.type}</td><td>${s.index??""}</td>
<td class="r">${Math.round(s.fill*100)} %</td><td class="samples" title=${o.join(", ").slice(0,500)}>${re(o.join(", ").slice(0,120))}</td></tr>`})}</tbody></table></div>`}function Qa({segments:e,zone:t}){if(e.length===0)return l`<h3 class="head">Segments</h3><p class="quiet none">All rows are still in memory and in the log: no segment is written yet.</p>`;let s=Math.min(...e.map(i=>Date.parse(i.from))),o=Math.max(...e.map(i=>Date.parse(i.to))),a=Math.max(...e.map(i=>i.rows)),n=i=>o>s?(Date.parse(i)-s)/(o-s)*100:0,r=e.reduce((i,c)=>i+c.bytes,0);return l`<h3 class="head">Segments<span class="quiet">${y(e.length)}, ${x(r)}</span></h3>
<div class="segments" role="img" aria-label=${`Segments from ${q(e[e.length-1].from,t)} to ${q(e[0].to,t)}`}>${e.map(i=>l`<i key=${i.file} title=${`${y(i.rows)} rows, ${x(i.bytes)}, ${q(i.from,t)} \u2013 ${q(i.to,t)}`}
style=${{left:`${n(i.from)}%`,width:`max(2px, ${n(i.to)-n(i.from)}%)`,height:`${Math.max(4,i.rows/a*40)}px`}}></i>`)}</div>
<p class="segmentaxis"><span>${q(new Date(s).toISOString(),t)}</span><span>${q(new Date(o).toISOString(),t)}</span></p>`}var Es=[["name","table",e=>`${e.db}.${e.name}`,"name"],["rows","rows",e=>e.rows,"r"],["bytes","bytes",e=>e.bytes,"r"],["last","newest row",null,"opt"],["each","bytes a row",e=>e.rows>0?e.bytes/e.rows:0,"r opt"],["ttl","ttl",e=>e.ttl,"opt"],["shards","shards",e=>e.shards[0]??0,"opt"],["created","created",e=>e.created,"opt"]];function Xa({stores:e}){let{tables:t,place:s}=e,o=s.here.value.params,[a,n]=[o.get("db")??"public",o.get("t")??""];G(s.page.value==="tables"?B(o,{db:null,t:null}):[]);let[r,i]=w(""),[c,u]=w({by:"name",down:!1});k(()=>{t.load()},[t]),k(()=>{document.title=n?`${a}.${n} \xB7 cordwood`:"Tables \xB7 cordwood"},[a,n]),k(()=>e.keys.bind({"/":["find a table",()=>document.getElementById("table-find")?.focus()],Escape:["close the table",()=>d("","")]}),[e]);function d(h,b){s.set("tables",{db:h,t:b},{db:"public"})}let p=t.all.value,$=mt(()=>en(p,r,c),[p,r,c]),m=n?p.find(h=>h.db===a&&h.name===n):void 0,f=t.latest.value.value!==null;return l`<h1 class="hidden">Tables</h1>
<${Se} since=${f?0:t.latest.since.value} onCancel=${t.latest.cancel} />
<div class=${`panes two ${n?"":"no-detail"}`}>
<section class="pane list" aria-label="Tables">
<div class="head"><input class="find" id="table-find" type="search" placeholder="Find a table" aria-label="Find a table" value=${r}
onInput=${h=>i(h.currentTarget.value)} />
<span class="quiet">${f&&Za(p,$)}</span></div>
<${O} latest=${t.latest} what="Asking for the tables" />
${f&&p.length===0&&l`<${Ct} signIn=${e.signIn} />`}
${p.length>0&&l`<${tn} shown=${$} sort=${c} onSort=${u} selected=${m} onOpen=${d} lastRows=${e.lastRows} />`}
</section>
${n&&(m||!f?l`<${Os} key=${`${a}.${n}`} db=${a} name=${n} info=${m} stores=${e} onClose=${()=>d("","")} />`:l`<section class="pane detail" aria-label="Table"><${W} title=${`There is no table ${a}.${n}.`}>
<p class="acts"><button class="button" onClick=${()=>d("","")}>Close</button></p><//></section>`)}
</div>`}function Za(e,t){let s=t.reduce((a,n)=>a+n.bytes,0);return`${e.length===t.length?`${y(e.length)} ${e.length===1?"table":"tables"}`:`${y(t.length)} of ${y(e.length)} tables`}, ${x(s)}`}function en(e,t,s){let o=t.trim().toLowerCase(),a=Es.find(([i])=>i===s.by)?.[2]??(i=>`${i.db}.${i.name}`),n=new Intl.Collator("en",{numeric:!0}),r=e.filter(i=>`${i.db}.${i.name}`.toLowerCase().includes(o));return r.sort((i,c)=>{let[u,d]=[a(i),a(c)];return typeof u=="number"&&typeof d=="number"?u-d:n.compare(String(u),String(d))}),s.down?r.reverse():r}function tn({shown:e,sort:t,onSort:s,selected:o,onOpen:a,lastRows:n}){let r=ce();k(()=>n.stop,[n]);let i=Es.map(([u,d,p,$])=>{if(!p)return l`<span class=${$}>${d}</span>`;let m=t.by===u;return l`<button class=${$} aria-pressed=${m} title=${`Sort by ${d}`}
onClick=${()=>s({by:u,down:m?!t.down:$.startsWith("r")})}>${d}${m&&(t.down?" \u2193":" \u2191")}</button>`});function c(u){let d=e[u],p=d===o;return l`<div class=${`row tablerow ${p?"on":""}`} role="row" aria-rowindex=${u+1} aria-selected=${p} key=${`${d.db}.${d.name}`}
data-ui="table-row" data-name=${d.name} onClick=${()=>a(d.db,d.name)}>
<span class="name" role="gridcell"><a href=${`/dashboard/tables?${new URLSearchParams({db:d.db,t:d.name})}`}><b>${d.db}.</b>${d.name}</a></span>
<span class="r" role="gridcell">${d.sized&&y(d.rows)}</span><span class="r" role="gridcell">${d.sized&&x(d.bytes)}</span>
<span class="opt" role="gridcell" data-ui="last-row" title=${n.of(d)}>${sn(n.of(d))}</span>
<span class="r opt" role="gridcell">${d.rows>0?x(d.bytes/d.rows):""}</span><span class="opt" role="gridcell">${d.ttl||"forever"}</span>
<span class="opt" role="gridcell">${d.shards.join(", ")}</span><span class="opt" role="gridcell">${d.created.slice(0,10)}</span></div>`}return l`<div class="tablehead tablerow">${i}</div>
<div class="rows"><${kt} count=${e.length} height=${r?44:28} label=${`${e.length} tables`} row=${c}
onSee=${(u,d)=>{n.see(r?[]:e.slice(u,d))}}
focus=${o?e.indexOf(o):-1} resetKey=${`${t.by}${t.down}`} /></div>`}function sn(e){return e===void 0?"":e?`${z(Math.max(0,Date.now()-new Date(e).getTime()))} ago`:"none"}function rt(){return{items:[],sizes:[],size:0,dropped:0}}function lt(e,t,s,o,a){e.items.push(...t),e.sizes.push(...s),e.size+=s.reduce((i,c)=>i+c,0);let n=Math.max(0,e.items.length-o),r=e.size;for(let i=0;i<n;i++)r-=e.sizes[i];for(;r>a&&n<e.items.length-1;)r-=e.sizes[n++];n!==0&&(e.items.splice(0,n),e.sizes.splice(0,n),e.size=r,e.dropped+=n)}var As=[1e3,1e4],Rs=16<<20,an=100,nn=3e3,on=4001,Cs=2e3;function _s({api:e,place:t,prefs:s,clock:o,session:a}){let n=F(()=>t.here.value.params),r=F(()=>({db:n.value.get("db")??"public",table:n.value.get("t")??s.table.value,q:n.value.get("q")??"",wrap:n.value.get("wrap")==="1"})),i=F(()=>{let S=Ce(s,r.value.db,[r.value.table]);return{message:n.value.get("message")||S.message,level:n.value.get("level")||S.level}}),c=F(()=>s.columns.get(Re(r.value.db,[r.value.table]))??[]),u=A(""),d=()=>JSON.stringify([t.page.value,r.value.db,r.value.table,r.value.q]),p=Lt(a,d,"cordwood.tail");ht(()=>p.keep("draft",u.value));let $="",m=T(o),f=rt(),h=A({count:0,dropped:0,still:!1}),b=A(null),g=A(!1),v=A(""),R=A(null),ee=A([]),j=A(0),te=A(1e4),ne=new Set,M=null,Gs=F(()=>Ne(m.value.value)),Be=()=>f.dropped+f.items.length,Q=null,ct=()=>b.value&&Q?Q:f.items,Hs=F(()=>t.page.value!=="tail"?[]:B(n.value,{db:null,t:null,q:null,wrap:null,message:null,level:null})),Ge=()=>m.error.value?.code===on,Vs=()=>!g.value&&!Ge()&&(v.value!==""||m.error.value!==null);async function Ks(S=""){pt();let _=new AbortController;M=_;let{db:D,table:L,q:U}=r.value,P=Ae(i.value);if(pe(()=>{d()!==$&&(u.value=p.take("draft")??U),$=d(),v.value="",R.value=null,ee.value=[],g.value=!1}),!L)return;let C=()=>m.run(oe=>e.json({path:"/v1/explore/fields",body:{db:D,tables:[L],...P},signal:oe}));for(await C();M===_&&Ge();)await o.wait(Cs,_.signal).catch(()=>{}),S=`${2*Cs/1e3}s`,M===_&&await C();if(!(M!==_||m.error.value))for(let oe=0;M===_;){let Ke=await Js(_,rn({db:D,table:L,search:U,since:S,...P}));if(M!==_||!Ke||(v.value=Ke.text,g.value&&(oe=0),g.value=!1,!Ke.again))return;S=`${Math.ceil((o.now()-dt)/1e3)+1}s`,await o.wait(Math.min(1e3*2**oe++,1e4),_.signal).catch(()=>{})}}let dt=o.now();async function Js(S,_){try{let D=await e.send({path:_,signal:S.signal});g.value=!0,v.value="";for await(let{values:L,sizes:U}of Le(D.body)){if(M!==S)return null;dt=o.now();let P=L[L.length-1];if(P&&"code"in P&&"error"in P&&Object.keys(P).length===2)return ln(P);Ys(L,U)}return{text:"The server ended the tail. Reconnecting.",again:!0}}catch(D){if($e(D))return null;let{status:L,at:U,nearest:P}=D;R.value=U??null,ee.value=P??[];let C=L===0||L===void 0||L===503;return{text:`${D.message}${C?" Trying again.":""}`,again:C}}}function Ys(S,_){let D=S.map((C,oe)=>({row:C,size:_[oe]})).filter(({row:C})=>!ne.has(C.id));for(let{row:C}of D)ne.add(C.id);let L=f.items.slice(0,D.length).concat(D.map(({row:C})=>C)),U=f.dropped,P=b.value&&!Q?f.items.slice():null;lt(f,D.map(({row:C})=>C),D.map(({size:C})=>C),te.value,Rs);for(let C of L.slice(0,f.dropped-U))ne.delete(C.id);P&&f.dropped>U&&(Q=P),ye+=D.length,ut()}let ye=0,ke=o.now(),He=!1,Ve;function ut(){clearTimeout(Ve),Ve=setTimeout(()=>{j.value=ye=0,ke=o.now()},nn),!He&&(He=!0,setTimeout(()=>{He=!1;let S=o.now();S-ke>=1e3&&(j.value=Math.round(ye*1e3/(S-ke)),ye=0,ke=S),h.value={count:ct().length,dropped:b.value&&Q?h.value.dropped:f.dropped,still:!!(b.value&&Q)}},an))}function pt(){M?.abort(),M=null,g.value=!1,j.value=0,clearTimeout(Ve)}return{isMissing:Ge,stopped:Vs,fault:R,nearest:ee,ignored:Hs,state:r,draft:u,fields:m,shape:Gs,drawn:h,held:b,live:g,ended:v,rate:j,most:te,marks:F(()=>St(r.value.q)),at:S=>ct()[S]??null,columns:c,roles:i,replaceFault:S=>R.value?Ot(r.value.q,R.value,S):r.value.q,wholeRow:({id:S,table:_})=>e.json({path:"/v1/explore/row",body:{db:r.value.db,table:_,id:S}}),fresh:()=>b.value?Be()-b.value.seen:0,follow:Ks,stop:pt,hold(){b.value??={at:o.now(),seen:Be()}},mark(){let S=o.now();lt(f,[{id:`mark ${S} ${Be()}`,time:new Date(S).toISOString(),table:"",v:{},mark:!0}],[40],te.value,Rs),b.value&&(b.value={...b.value,seen:b.value.seen+1}),ut()},release(){b.value=null,Q=null,h.value={count:f.items.length,dropped:f.dropped,still:!1}},clear(){Object.assign(f,rt()),ne.clear(),b.value=null,Q=null,h.value={count:0,dropped:0,still:!1}},set(S,_){let{db:D,table:L,q:U,wrap:P}=r.value;t.set("tail",{db:D,t:L,q:U,wrap:P?"1":"",...S.t?{}:i.value,...S},{db:"public"},_)}}}function rn(e){let t=new URLSearchParams({shape:"row"});for(let[s,o]of Object.entries(e))o&&t.set(s,o);return`/v1/tail?${t}`}function ln(e){return e.code===6001?{text:"The browser was too slow: some rows are missing here, but not in the table. Reconnecting.",again:!0}:{text:e.error,again:e.code===4008||e.code===5003}}function cn({stores:e}){let{tail:t,prefs:s,tables:o}=e,a=t.state.value,n=ce(),[r,i]=w(null);k(()=>{t.clear(),i(null),a.table&&(s.table.value=a.table),t.follow(),document.title=`tail ${a.table} \xB7 cordwood`},[a.db,a.table,a.q]),pn(t),G(t.ignored.value),k(()=>e.keys.bind({" ":["hold or follow",()=>t.held.value?t.release():t.hold()],m:["draw a line here",()=>t.mark()],End:["follow",()=>t.release()],w:["wrap lines",()=>Ds(t)],"/":["search",()=>document.getElementById("search")?.focus()],Escape:["close the row",()=>i(null)]}),[e]);async function c(h){if(i(h),!h.cut)return;let b=await t.wholeRow(h).catch(()=>null);b&&i(g=>g?.id===h.id?b:g)}function u(){t.draft.value===a.q&&t.stopped()?t.follow():t.set({q:t.draft.value})}let{count:d,dropped:p,still:$}=t.drawn.value,m=t.held.value,f=s.zone.value;return l`<h1 class="hidden">Live tail</h1>
<form
class="ask"
role="search"
onSubmit=${h=>{h.preventDefault(),u()}}
>
<${At}
db=${a.db}
tables=${a.table?[a.table]:[]}
all=${o.all.value}
single
onPick=${(h,b)=>t.set({db:h,t:b[b.length-1]})}
/>
<${_t}
text=${t.draft.value}
onText=${h=>t.draft.value=h}
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
><span class=${`dot ${t.live.value&&!m?"":"bad"}`}></span>${m?`Held at ${Oe(m.at,f).time}`:t.live.value?`Live \xB7 ${y(t.rate.value)} rows/s`:"Not connected"}</span
>
<button
class="text"
aria-pressed=${m!==null}
onClick=${()=>m?t.release():t.hold()}
>
${m?"Follow":"Hold"} <kbd>space</kbd>
</button>
<button class="text" data-ui="mark" onClick=${t.mark}>
Mark <kbd>M</kbd>
</button>
<button class="text" onClick=${t.clear}>Clear</button>
<button
class="text"
aria-pressed=${a.wrap}
data-ui="wrap"
onClick=${()=>Ds(t)}
>
Wrap <kbd>W</kbd>
</button>
<label class="text"
>Keep
<select
aria-label="Rows that are kept"
value=${t.most.value}
onChange=${h=>t.most.value=Number(h.currentTarget.value)}
>
${As.map(h=>l`<option value=${h}>${y(h)}</option>`)}
</select></label
>
<span class="grow"></span>
${m&&l`<button class="button" data-ui="tail-new" onClick=${t.release}>↓ ${y(t.fresh())} new rows</button>`}
${p>0&&l`<span class="quiet" data-ui="tail-dropped">${y(p)} older rows are in the table only</span>`}
${$&&l`<span class="quiet" data-ui="tail-still">more rows came than are kept: this list stands still until you follow again</span>`}
<a class="text" data-ui="explore-this" href=${Ns(t)}
>Explore this</a
>
</div>
${t.ended.value&&l`<${dn} tail=${t} />`}
${!t.isMissing()&&l`<${O} latest=${{...t.fields,again:()=>{t.follow()}}} what="Following the table" />`}
<div class=${`panes tail ${r?"":"no-detail"}`}>
<section class="pane list" aria-label="Rows" onMouseDown=${h=>{h.target.closest("[data-ui=row]")&&t.hold()}}>
${d===0?l`<${W}
title=${un(t)}
>
${t.isMissing()&&l`<p>Its rows are shown here as soon as the first ones are stored.</p>`}
${a.table&&!t.isMissing()&&!t.stopped()&&l`<p class="acts"><button class="button" onClick=${()=>t.follow("10m")}>Show the last ten minutes</button></p>`}<//
>`:l`<${Ee}
count=${d}
of=${t.drawn.value}
at=${t.at}
shape=${t.shape.value}
columns=${gt(n,t.columns.value,t.fields.value.value)}
marks=${t.marks.value}
zone=${f}
density=${s.density.value}
narrow=${n}
label=${`${d} rows, newest last`}
selected=${r?.id??""}
dropped=${p}
follow=${!m}
wrap=${a.wrap}
onEnd=${h=>!h&&t.hold()}
onOpen=${h=>{t.hold(),h.id===r?.id?i(null):c(h)}}
/>`}
</section>
${r&&l`<${Et}
row=${r}
shape=${t.shape.value}
zone=${f}
marks=${t.marks.value}
columns=${t.columns.value}
trace=${null}
onOnly=${h=>t.set({q:xt(a.q,h)})}
onWithout=${h=>t.set({q:Tt(a.q,h)})}
onClose=${()=>i(null)}
/>`}
</div>`}function dn({tail:e}){let[t,s]=[e.fault.value,e.nearest.value];return l`<div class="banner" role="alert" data-ui="banner">${e.ended.value}
${s.map(o=>l` <button class="text go" data-ui="nearest" onClick=${()=>e.set({q:e.replaceFault(o)})}>${o}</button>`)}
${!t&&l` <button class="text go" data-ui="retry" onClick=${()=>e.follow()}>Follow again</button> <a class="text go" href=${Ns(e)}>Show them in Explore</a>`}</div>`}function un(e){let{table:t}=e.state.value;return t?e.isMissing()?`There is no table ${t} yet.`:e.stopped()?`${t} is not followed.`:`Waiting for new rows in ${t}.`:"Choose a table to follow."}function Ds(e){e.set({wrap:e.state.value.wrap?"":"1"},{replace:!0})}function Ns(e){let{db:t,table:s,q:o}=e.state.value;return H("explore",{db:t,t:s,q:o,...e.roles.value,from:e.at(0)?.time??""},{db:"public"})}function pn(e){k(()=>{let t,s=0,o=()=>{if(clearTimeout(t),document.visibilityState==="hidden")t=setTimeout(()=>{s=Date.now(),e.stop()},3e4);else if(s){let n=`${Math.ceil((Date.now()-s)/1e3)+30}s`;s=0,e.follow(n)}},a=()=>{let n=getSelection();n&&!n.isCollapsed&&n.anchorNode?.parentElement?.closest(".row")&&e.hold()};return document.addEventListener("visibilitychange",o),document.addEventListener("selectionchange",a),()=>{clearTimeout(t),document.removeEventListener("visibilitychange",o),document.removeEventListener("selectionchange",a),e.stop()}},[e])}async function*qs(e,t){for(let s=0;s<e.size;){let o=t,a=await Ps(e,s,o),n=a.lastIndexOf(Ls)+1;for(;n===0&&s+a.length<e.size;)o*=2,a=await Ps(e,s,o),n=a.indexOf(Ls)+1;(n===0||o===t&&s+a.length>=e.size)&&(n=a.length),s+=n,yield{text:new TextDecoder().decode(a.subarray(0,n)),end:s}}}var Ls=10;async function Ps(e,t,s){return new Uint8Array(await e.slice(t,t+s).arrayBuffer())}function Is(e){let t=e.slice(0,Math.max(e.indexOf(`
`),0)||e.length).trim();try{let s=JSON.parse(t);if(typeof s=="object"&&s!==null&&!Array.isArray(s))return"application/x-ndjson"}catch{}return"text/plain"}var mn=1<<20,$n=50,hn=5;function js({api:e,clock:t}){let s=A([]),o=A(0),a=A(""),n=A(null),r=new AbortController,i=new AbortController;async function c($,m){r.abort(),r=new AbortController;let{signal:f}=r;pe(()=>{s.value=[],o.value=0,a.value=m});let h=new URLSearchParams({db:$,table:m,shape:"row",since:"60s"});for(;!f.aborted;){try{let b=await e.send({path:`/v1/tail?${h}`,signal:f});b.body&&await u(b.body)}catch(b){if($e(b))return}await t.wait(1e3,f).catch(()=>{})}}async function u($){for await(let{values:m}of Le($)){let f=m.filter(h=>h.id);f.length!==0&&pe(()=>{o.value+=f.length,s.value=[...s.value,...f].slice(-$n)})}}async function d($,{db:m,table:f,pipeline:h}){i.abort(),i=new AbortController;let{signal:b}=i;n.value={name:$.name,size:$.size,sent:0,rows:0,refused:0,reasons:[],error:"",done:!1};let g=bn(),v=new URLSearchParams({db:m,table:f,pipeline_name:h,skip_error:"true"}),R="",ee=0;try{for await(let{text:j,end:te}of qs($,mn)){R||=Is(j);let ne={"content-type":R,"Idempotency-Key":`${g}-${ee++}`},M=await p({path:`/v1/ingest?${v}`,method:"POST",text:j,headers:ne,signal:b});n.value=fn(n.value,te,M)}n.value={...n.value,done:!0}}catch(j){let te=$e(j)?"Cancelled: what was sent stays.":j instanceof Error?j.message:String(j);n.value={...n.value,error:te,done:!0}}}async function p($){for(let m=0;;m++)try{return await e.json($)}catch(f){if(!(f instanceof bt&&(f.status===0||f.status===429||f.status===503))||m>=5)throw f;await t.wait(f.retryAfter*1e3||1e3*2**m,$.signal)}}return{rows:s,count:o,waits:a,sending:n,follow:c,stop:()=>r.abort(),send:d,cancel:()=>i.abort()}}function fn(e,t,s){let o=(s.output??[]).reduce((r,i)=>r+(i.affectedrows??0),e.rows),a=(s.skipped?.reasons??[]).map(r=>r.error),n=[...new Set([...e.reasons,...a])].slice(0,hn);return{...e,sent:t,rows:o,refused:e.refused+(s.skipped?.count??0),reasons:n}}function bn(){return[...crypto.getRandomValues(new Uint8Array(12))].map(e=>e.toString(16).padStart(2,"0")).join("")}function Ms({api:e,explore:t,clock:s}){let o=T(s),a=T(s),n=F(()=>{let{afrom:r,ato:i,bq:c}=t.state.value,u=t.range.value;if(!u)return null;if(r&&i)return{a:{from:r,to:i},b:{from:u.from,to:u.to},rest:!0};if(c)return{a:u,b:{...u,query:c},rest:!1};let[d,p]=[Date.parse(u.from),Date.parse(u.to)];return{a:{from:u.from,to:u.to},b:{from:new Date(2*d-p).toISOString(),to:u.from},rest:!1}});return{patterns:o,comparison:a,sets:n,loadPatterns:r=>o.run(i=>e.json({path:"/v1/explore/patterns",body:{...t.scope(),field:r||void 0,limit:200,before:!0},signal:i})),async compare(){let r=n.value;if(!r)return;let i=t.scope(),c={a:{...i,...r.a},b:{...i,...r.b},rest:r.rest,top:20};await a.run(u=>e.json({path:"/v1/explore/compare",body:c,signal:u}))}}}var gn=3,vn=200,wn=6e4;function Us(e,t){let s=A({}),o=new Map,a=null;async function n(r,i){for(let c=r.shift();c&&!i.aborted;c=r.shift()){let u=it(c);o.set(u,t.now());try{let{last_row:d}=await e.json({path:"/v1/explore/fields",body:{db:c.db,tables:[c.name]},signal:i});s.value={...s.value,[u]:d??""}}catch{o.delete(u)}}}return{of:r=>s.value[it(r)],async see(r){a?.abort();let i=new AbortController;a=i;let c=r.filter(u=>t.now()-(o.get(it(u))??-1/0)>wn);c.length!==0&&(await t.wait(vn,i.signal).catch(()=>{}),!i.signal.aborted&&await Promise.all(Array.from({length:gn},()=>n(c,i.signal))))},stop:()=>a?.abort()}}function it({db:e,name:t}){return JSON.stringify([e,t])}var Ws=["MONITOR","CLUSTER"];function Fs(e,t){let s=T(t,{once:!0}),o=T(t),a=T(t,{once:!0}),n=T(t),r=A("");return{start:s,plan:o,list:n,cancelling:a,asks:r,clear(){s.cancel(),s.value.value=null,s.error.value=null,r.value=""},async begin(i){await s.run(u=>e.json({path:"/v1/cluster/operations",body:i,signal:u}));let c=s.value.value;return r.value=c?.confirm??"",!s.error.value&&c!==null&&!c.confirm&&!c.removal},loadList:()=>n.run(async i=>(await e.json({path:"/v1/cluster/operations",signal:i,need:Ws})).operations),loadPlan:()=>o.run(i=>e.json({path:"/v1/cluster/plan",signal:i,need:Ws})),cancel:i=>a.run(c=>e.json({path:`/v1/cluster/operations/${i}`,method:"DELETE",signal:c}))}}var yn=2e3;function Bs(e,t){let s=T(t),o=T(t,{once:!0});return{latest:s,action:o,load:(a,n)=>s.run(async r=>{let i={db:a,tables:[n]},c=[],u=(f,h)=>h.catch(b=>{if(b.status!==403)throw b;return c.some(g=>g.error.message===b.message)||c.push({what:f,error:b}),null}),[d,p,$,m]=await Promise.all([u("The columns are",e.json({path:"/v1/explore/fields",body:i,signal:r})),u("The newest values are",e.json({path:"/v1/explore/rows",body:{...i,limit:3,max_value_bytes:200},signal:r})),u("The statement is",e.sql(`SHOW CREATE TABLE ${E(n)}`,{signal:r,db:a})),u("The segments are",e.sql(kn(a,n),{signal:r,need:["MONITOR","CLUSTER"]}))]);if(!d&&!$&&!m)throw c[0].error;return{ddl:$&&String($.rows[0]?.[1]??""),fields:d&&d.fields,lastRow:d&&d.last_row,rows:p?.rows??[],segments:m&&m.rows.map(xn),refused:c}},JSON.stringify([a,n])),async change(a,n){return await o.run(r=>e.sql(n,{signal:r,db:a})),o.error.value===null}}}function kn(e,t){return`SELECT file, shard_id, rows, bytes, min_time, max_time FROM svc_private.segments WHERE table_schema = ${I(e)} AND table_name = ${I(t)} ORDER BY min_time DESC LIMIT ${yn}`}function xn([e,t,s,o,a,n]){return{file:String(e),shard:Number(t),rows:Number(s),bytes:Number(o),from:zs(a),to:zs(n)}}function zs(e){let t=Number(e);return Number.isFinite(t)?new Date(t/1e3).toISOString():String(e)}function Tn(e){let{api:t,explore:s,place:o,prefs:a}=e;return{...Pt(e),access:vs(t,N),adding:js({api:t,clock:N}),analysis:Ms({api:t,explore:s,clock:N}),lastRows:Us(t,N),operations:Fs(t,N),table:Bs(t,N),tail:_s({api:t,place:o,prefs:a,clock:N,session:sessionStorage})}}export{ia as AddPage,Da as ClusterPage,Zs as Compare,sa as Patterns,Qs as RejectsPage,Wa as SettingsPage,Xa as TablesPage,cn as TailPage,Tn as makeStores};
